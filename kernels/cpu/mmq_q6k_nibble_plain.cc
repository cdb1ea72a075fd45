#include <algorithm>
#include <cmath>

#include "kernels/cpu/mmq_forms.h"
#include "kernels/cpu/mmq_q6k_nibble_chunk.h"

namespace fg {
namespace {

float MultiplyChunk(const ChunkQ6_K& w, const ActivationChunk& a, float acc) {
  int32_t dot0 = 0, dot1 = 0;
  for (int i = 0; i < 16; ++i) dot0 += w.n[i] * a.q[i];
  for (int i = 16; i < 32; ++i) dot1 += w.n[i] * a.q[i];
  return std::fma(static_cast<float>(FoldOffset(w, dot0, dot1, a.sum)), w.d * a.d, acc);
}

template <KernelFault kFault>
void OneOutput(const MmqArgs& args, int64_t out, int64_t first, int rows) {
  const int64_t supers = args.k / kSuperBlock;
  float acc[kMmqRowBlock] = {};
  ChunkQ6_K chunks[8];
  for (int64_t s = 0; s < supers; ++s) {
    DecodeSuper<kFault>(args.w, args.expanded, supers, out, s, chunks);
    for (int r = 0; r < rows; ++r) {
      const ActivationChunk* a = args.a + ((first + r) * supers + s) * 8;
      for (int c = 0; c < 8; ++c) acc[r] = MultiplyChunk(chunks[c], a[c], acc[r]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    args.y[(first + r) * args.ldy + out] = args.bias == nullptr ? acc[r] : acc[r] + args.bias[out];
  }
}

template <KernelFault kFault>
void Run(const MmqArgs& args, Range outs) {
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int rows = static_cast<int>(std::min<int64_t>(kMmqRowBlock, args.rows - first));
    for (int64_t o = outs.begin; o < outs.end; ++o) OneOutput<kFault>(args, o, first, rows);
  }
}

}  // namespace

void MmqQ6KNibblePlain(const MmqArgs& args, Range outs, KernelFault fault) {
  switch (fault) {
    case KernelFault::kSwapHalfScales:
      return Run<KernelFault::kSwapHalfScales>(args, outs);
    case KernelFault::kCoarseQ6K:
      return Run<KernelFault::kCoarseQ6K>(args, outs);
    default:
      return Run<KernelFault::kNone>(args, outs);
  }
}

}  // namespace fg
