#include <algorithm>
#include <cmath>

#include "kernels/cpu/mmq_forms.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

struct Scales {
  float ws[8];
  float wm[8];
};

Scales DecodeScales(const BlockQ4_K& block) {
  Scales scales;
  const float d = F16ToF32(block.d);
  const float dmin = F16ToF32(block.dmin);
  for (int j = 0; j < 8; ++j) {
    const ScaleMin sm = UnpackScaleMin(block.s, j);
    scales.ws[j] = d * sm.scale;
    scales.wm[j] = -dmin * sm.min;
  }
  return scales;
}

template <KernelFault kFault>
float AddChunk(const Scales& scales, int j, int isum, const ActivationChunk& a, float acc) {
  acc = std::fma(static_cast<float>(isum), scales.ws[j] * a.d, acc);
  if (kFault == KernelFault::kDropMin && j == 5) return acc;
  return std::fma(scales.wm[j], a.d * static_cast<float>(a.sum[0] + a.sum[1]), acc);
}

// One super-block with one row: the nibbles go from the packed byte straight into the products.
template <KernelFault kFault>
float MultiplyRow(const uint8_t* q, const Scales& scales, const ActivationChunk* a, float acc) {
  for (int pair = 0; pair < 4; ++pair, q += 32) {
    int low = 0, high = 0;
    for (int i = 0; i < 32; ++i) {
      low += (q[i] & 15) * a[2 * pair].q[i];
      high += (q[i] >> 4) * a[2 * pair + 1].q[i];
    }
    if constexpr (kFault == KernelFault::kSwapNibbles) {
      low = high = 0;
      for (int i = 0; i < 32; ++i) {
        low += (q[i] >> 4) * a[2 * pair].q[i];
        high += (q[i] & 15) * a[2 * pair + 1].q[i];
      }
    }
    acc = AddChunk<kFault>(scales, 2 * pair, low, a[2 * pair], acc);
    acc = AddChunk<kFault>(scales, 2 * pair + 1, high, a[2 * pair + 1], acc);
  }
  return acc;
}

template <KernelFault kFault>
void OneOutput(const MmqArgs& args, int64_t out, int64_t first, int rows) {
  const int64_t supers = args.k / kSuperBlock;
  const BlockQ4_K* w = static_cast<const BlockQ4_K*>(args.w) + out * supers;
  float acc[kMmqRowBlock] = {};
  for (int64_t s = 0; s < supers; ++s) {
    const Scales scales = DecodeScales(w[s]);
    for (int r = 0; r < rows; ++r) {
      const ActivationChunk* a = args.a + ((first + r) * supers + s) * 8;
      acc[r] = MultiplyRow<kFault>(w[s].q, scales, a, acc[r]);
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

void MmqQ4KNibblePlain(const MmqArgs& args, Range outs, KernelFault fault) {
  switch (fault) {
    case KernelFault::kSwapNibbles:
      return Run<KernelFault::kSwapNibbles>(args, outs);
    case KernelFault::kDropMin:
      return Run<KernelFault::kDropMin>(args, outs);
    default:
      return Run<KernelFault::kNone>(args, outs);
  }
}

}  // namespace fg
