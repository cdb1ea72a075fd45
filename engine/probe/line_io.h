// Lines over file descriptors, as the probe speaks them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fg {

// A request line longer than this is refused and skipped.
constexpr size_t kProbeLineLimit = size_t{64} << 20;

// Reads lines from a descriptor that it does not own. Never holds more than `limit` bytes of a
// line.
class LineReader {
 public:
  explicit LineReader(int descriptor, size_t limit = kProbeLineLimit)
      : descriptor_(descriptor), limit_(limit) {}

  enum class Event { kLine, kTooLong, kEnd };
  // The next line without its end ("\n" or "\r\n"). The last one needs none. kTooLong: the line has
  // been skipped. kIo when reading fails.
  Result<Event> Next(std::string* line);

 private:
  Status Fill();  // appends to buffer_, or sets ended_

  int descriptor_;
  size_t limit_;
  std::string buffer_;
  size_t start_ = 0;  // of what has not been handed out
  bool ended_ = false;
};

// Writes `line` and a newline whole. kIo when the reader has gone or the write fails.
Status WriteLine(int descriptor, std::string line);

}  // namespace fg
