#pragma once

namespace fg {

// A promise of the prefill that is broken on purpose, so that what guards it can be seen to speak
// up (docs/probe.md "forward").
enum class Violation {
  kNone,
  kDeadWrite,   // after a producer of mode 2 a consumer asks for another plane of that buffer
  kStalePlane,  // planes are not cleared although other nodes write to the same address
};

}  // namespace fg
