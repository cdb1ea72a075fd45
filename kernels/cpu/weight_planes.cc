#include "kernels/cpu/weight_planes.h"

#include "kernels/formats/half.h"

namespace fg {

void BuildScalePlane(const void* w, int64_t k, int64_t out, Range outs, ScalePair* plane,
                     KernelFault fault) {
  const int64_t supers = k / kSuperBlock;
  const BlockQ4_K* blocks = static_cast<const BlockQ4_K*>(w);
  const auto rounded = [&](float v) {
    return fault == KernelFault::kRoundedScales ? F16ToF32(F32ToF16(v)) : v;
  };
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    for (int64_t s = 0; s < supers; ++s) {
      const BlockQ4_K& block = blocks[o * supers + s];
      const float d = F16ToF32(block.d);
      const float dmin = F16ToF32(block.dmin);
      for (int j = 0; j < 8; ++j) {
        const ScaleMin sm = UnpackScaleMin(block.s, j);
        plane[ScalePairIndex(8 * s + j, o, out)] = {rounded(d * sm.scale), rounded(-dmin * sm.min)};
      }
    }
  }
}

}  // namespace fg
