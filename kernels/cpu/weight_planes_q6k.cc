#include <cassert>

#include "kernels/cpu/mmq_q6k_nibble_chunk.h"
#include "kernels/cpu/weight_planes.h"

namespace fg {
namespace {

template <KernelFault kFault>
void Build(const void* w, int64_t k, Range outs, ExpandedChunkQ6_K* plane) {
  const int64_t supers = k / kSuperBlock;
  for (int64_t at = outs.begin * supers; at < outs.end * supers; ++at) {
    const BlockQ6_K& block = static_cast<const BlockQ6_K*>(w)[at];
    for (int c = 0; c < 8; ++c) {
      const ChunkQ6_K chunk = DecodeChunk<kFault>(block, c);
      ExpandedChunkQ6_K* out = plane + at * 8 + c;
      for (int i = 0; i < 32; ++i) out->q[i] = static_cast<int8_t>(chunk.n[i] - 32);
      out->d = chunk.d;
      for (int h = 0; h < 2; ++h) {
        out->sc[h] = static_cast<int8_t>(chunk.sc[h]);
        out->zero[h] = 0;
      }
    }
  }
}

}  // namespace

void BuildExpandedPlane(const void* w, int64_t k, Range outs, ExpandedChunkQ6_K* plane,
                        KernelFault fault) {
  assert(k % kSuperBlock == 0);
  if (fault == KernelFault::kSwapHalfScales) {
    return Build<KernelFault::kSwapHalfScales>(w, k, outs, plane);
  }
  Build<KernelFault::kNone>(w, k, outs, plane);
}

}  // namespace fg
