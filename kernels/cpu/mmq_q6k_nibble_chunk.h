// A chunk of 32 q6_K weights with unsigned values, for the plain kernels of the nibble family and
// the builder of the expanded plane. docs/gguf.md, docs/arithmetic.md "Planes".
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/formats/blocks.h"
#include "kernels/formats/half.h"
#include "kernels/formats/planes.h"
#include "kernels/kernel_fault.h"

namespace fg {

struct ChunkQ6_K {
  uint8_t n[32];  // 0..63, the value is d * sc * (n - 32)
  int32_t sc[2];  // of values 0..15 and 16..31
  float d;
};

// Chunk `c` (0..7) of a super-block. Faults: kSwapHalfScales, kCoarseQ6K.
template <KernelFault kFault>
ChunkQ6_K DecodeChunk(const BlockQ6_K& block, int c) {
  constexpr int kSwap = kFault == KernelFault::kSwapHalfScales ? 1 : 0;
  constexpr int kKeep = kFault == KernelFault::kCoarseQ6K ? 0x3C : 0x3F;
  const int half = c / 4, quarter = c % 4;
  const uint8_t* ql = block.ql + 64 * half + 32 * (quarter % 2);
  const uint8_t* qh = block.qh + 32 * half;
  const int low_shift = quarter < 2 ? 0 : 4;
  ChunkQ6_K chunk;
  for (int i = 0; i < 32; ++i) {
    const int n = ((ql[i] >> low_shift) & 15) | (((qh[i] >> (2 * quarter)) & 3) << 4);
    chunk.n[i] = static_cast<uint8_t>(n & kKeep);
  }
  chunk.sc[0] = block.scales[2 * c + kSwap];
  chunk.sc[1] = block.scales[2 * c + 1 - kSwap];
  chunk.d = F16ToF32(block.d);
  return chunk;
}

// The same from the expanded plane. A plane with swapped scales was built so; faults: kCoarseQ6K.
template <KernelFault kFault>
ChunkQ6_K DecodeChunk(const ExpandedChunkQ6_K& expanded) {
  constexpr int kKeep = kFault == KernelFault::kCoarseQ6K ? 0x3C : 0x3F;
  ChunkQ6_K chunk;
  for (int i = 0; i < 32; ++i) {
    chunk.n[i] = static_cast<uint8_t>((expanded.q[i] + 32) & kKeep);
  }
  chunk.sc[0] = expanded.sc[0];
  chunk.sc[1] = expanded.sc[1];
  chunk.d = expanded.d;
  return chunk;
}

// The eight chunks of super-block `s` of output `out`, from the plane where there is one.
template <KernelFault kFault>
void DecodeSuper(const void* w, const ExpandedChunkQ6_K* expanded, int64_t supers, int64_t out,
                 int64_t s, ChunkQ6_K chunks[8]) {
  const int64_t at = out * supers + s;
  for (int c = 0; c < 8; ++c) {
    chunks[c] = expanded != nullptr ? DecodeChunk<kFault>(expanded[at * 8 + c])
                                    : DecodeChunk<kFault>(static_cast<const BlockQ6_K*>(w)[at], c);
  }
}

// The chunk's integer sum, from the products of the unsigned values and the activations' sums.
inline int32_t FoldOffset(const ChunkQ6_K& w, int32_t dot0, int32_t dot1, const int16_t sum[2]) {
  return w.sc[0] * (dot0 - 32 * sum[0]) + w.sc[1] * (dot1 - 32 * sum[1]);
}

}  // namespace fg
