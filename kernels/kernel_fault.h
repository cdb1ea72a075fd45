// Planted defects of kernels (docs/faults.md). A kernel takes one as a template parameter chosen at
// dispatch, so the healthy kernel holds no trace of it.
#pragma once

namespace fg {

enum class KernelFault {
  kNone,
  kSwapNibbles,     // q4_K nibble kernel: low and high nibbles of a sub-block pair exchanged
  kDropMin,         // q4_K nibble kernel: the min term of sub-block 5 is left out
  kWrongTail,       // q4_K raw kernel: the last super-block of each row is skipped
  kCoarseQuant,     // quantizer: activations rounded to 4 bits
  kChunkOffPlane,   // q4_K tile kernel: reads the chunk of index k*8 + lane/8 in place of its own
  kSwapHalfScales,  // q6_K: the scales of a chunk's two halves exchanged
  kCoarseQ6K,       // q6_K nibble kernels: the two lowest bits of each six-bit value cleared
  kDirtyTail,       // tile quantizer: rows past the last one are left as they were
  kRoundedScales,   // scale plane: pairs rounded to f16
};

}  // namespace fg
