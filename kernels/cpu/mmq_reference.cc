#include "kernels/cpu/mmq_reference.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/formats/dequantize.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

// What a chunk adds to an output: isum * ws * da, and wm * da * msum for types with a min.
struct Terms {
  int32_t isum = 0;
  int32_t msum = 0;
  float ws = 0;
  float wm = 0;
  bool has_min = false;
};

Terms TermsQ4_0(const BlockQ4_0* row, int64_t c, const ActivationChunk& a) {
  Terms terms;
  const BlockQ4_0& block = row[c];
  for (int i = 0; i < 32; ++i) {
    const int n = i < 16 ? block.q[i] & 15 : block.q[i - 16] >> 4;
    terms.isum += (n - 8) * a.q[i];
  }
  terms.ws = F16ToF32(block.d);
  return terms;
}

// n of value i has its fifth bit at bit i of the little-endian u32 h.
Terms TermsQ5_0(const BlockQ5_0* row, int64_t c, const ActivationChunk& a) {
  Terms terms;
  const BlockQ5_0& block = row[c];
  const uint32_t h = block.h[0] | static_cast<uint32_t>(block.h[1]) << 8 |
                     static_cast<uint32_t>(block.h[2]) << 16 |
                     static_cast<uint32_t>(block.h[3]) << 24;
  for (int i = 0; i < 32; ++i) {
    const int low = i < 16 ? block.q[i] & 15 : block.q[i - 16] >> 4;
    const int n = low + (((h >> i) & 1) != 0 ? 16 : 0);
    terms.isum += (n - 16) * a.q[i];
  }
  terms.ws = F16ToF32(block.d);
  return terms;
}

Terms TermsQ8_0(const BlockQ8_0* row, int64_t c, const ActivationChunk& a) {
  Terms terms;
  for (int i = 0; i < 32; ++i) terms.isum += row[c].q[i] * a.q[i];
  terms.ws = F16ToF32(row[c].d);
  return terms;
}

Terms TermsQ4_K(const BlockQ4_K* row, int64_t c, const ActivationChunk& a) {
  Terms terms;
  const BlockQ4_K& block = row[c / 8];
  const int j = static_cast<int>(c % 8);
  for (int i = 0; i < 32; ++i) {
    const uint8_t packed = block.q[32 * (j / 2) + i];
    terms.isum += (j % 2 == 0 ? packed & 15 : packed >> 4) * a.q[i];
  }
  terms.msum = a.sum[0] + a.sum[1];
  const ScaleMin pair = UnpackScaleMin(block.s, j);
  terms.ws = F16ToF32(block.d) * static_cast<float>(pair.scale);
  terms.wm = -F16ToF32(block.dmin) * static_cast<float>(pair.min);
  terms.has_min = true;
  return terms;
}

// n - 32 of value v (0..255), with the indices of docs/gguf.md.
int ValueQ6_K(const BlockQ6_K& block, int v) {
  const int h = v / 128, l = v % 32, quarter = v % 128 / 32;
  const int low_byte = block.ql[64 * h + (quarter % 2 == 1 ? l + 32 : l)];
  const int low = quarter < 2 ? low_byte & 15 : low_byte >> 4;
  const int high = (block.qh[32 * h + l] >> (2 * quarter)) & 3;
  return (low | high << 4) - 32;
}

Terms TermsQ6_K(const BlockQ6_K* row, int64_t c, const ActivationChunk& a) {
  Terms terms;
  const BlockQ6_K& block = row[c / 8];
  for (int i = 0; i < 32; ++i) {
    const int v = static_cast<int>(c % 8) * 32 + i;
    const int scale = block.scales[8 * (v / 128) + v % 32 / 16 + 2 * (v % 128 / 32)];
    terms.isum += scale * ValueQ6_K(block, v) * a.q[i];
  }
  terms.ws = F16ToF32(block.d);
  return terms;
}

Terms TermsOf(const MmqArgs& args, int64_t out, int64_t c, const ActivationChunk& a) {
  const void* row = static_cast<const uint8_t*>(args.w) + out * RowBytes(args.type, args.k);
  switch (args.type) {
    case TensorType::kQ4_0:
      return TermsQ4_0(static_cast<const BlockQ4_0*>(row), c, a);
    case TensorType::kQ5_0:
      return TermsQ5_0(static_cast<const BlockQ5_0*>(row), c, a);
    case TensorType::kQ8_0:
      return TermsQ8_0(static_cast<const BlockQ8_0*>(row), c, a);
    case TensorType::kQ4_K:
      return TermsQ4_K(static_cast<const BlockQ4_K*>(row), c, a);
    case TensorType::kQ6_K:
      return TermsQ6_K(static_cast<const BlockQ6_K*>(row), c, a);
    default:
      std::abort();  // the caller's mistake; a reference must not answer with zeros
  }
}

std::vector<double> ExactWeights(const MmqArgs& args, int64_t out) {
  std::vector<double> weights(static_cast<size_t>(args.k));
  const void* row = static_cast<const uint8_t*>(args.w) + out * RowBytes(args.type, args.k);
  if (!DequantizeRowExact(args.type, row, args.k, weights.data())) std::abort();
  return weights;
}

}  // namespace

void MmqContract(const MmqArgs& args, Range outs) {
  const int64_t chunks = args.k / 32;
  for (int64_t r = 0; r < args.rows; ++r) {
    for (int64_t o = outs.begin; o < outs.end; ++o) {
      float acc = 0;
      for (int64_t c = 0; c < chunks; ++c) {
        const ActivationChunk& a = args.a[r * chunks + c];
        const Terms terms = TermsOf(args, o, c, a);
        const float scale = terms.ws * a.d;
        acc = std::fma(static_cast<float>(terms.isum), scale, acc);
        if (terms.has_min) {
          const float scaled_sum = a.d * static_cast<float>(terms.msum);
          acc = std::fma(terms.wm, scaled_sum, acc);
        }
      }
      if (args.bias != nullptr) acc = acc + args.bias[o];
      args.y[r * args.ldy + o] = acc;
    }
  }
}

void MmqExact(const MmqArgs& args, Range outs, double* value, double* magnitude) {
  const int64_t chunks = args.k / 32;
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    const std::vector<double> weights = ExactWeights(args, o);
    for (int64_t r = 0; r < args.rows; ++r) {
      double sum = 0, size = 0;
      for (int64_t c = 0; c < chunks; ++c) {
        const ActivationChunk& a = args.a[r * chunks + c];
        const double da = a.d;
        for (int i = 0; i < 32; ++i) sum += weights[static_cast<size_t>(32 * c + i)] * da * a.q[i];
        const Terms terms = TermsOf(args, o, c, a);
        size += std::fabs(terms.isum * da * terms.ws) + std::fabs(terms.msum * da * terms.wm);
      }
      if (args.bias != nullptr) sum += args.bias[o];
      value[r * outs.size() + o - outs.begin] = sum;
      magnitude[r * outs.size() + o - outs.begin] = size;
    }
  }
}

void MmqExactFloat(const MmqArgs& args, const float* x, int64_t ldx, Range outs, double* value,
                   double* slack) {
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    const std::vector<double> weights = ExactWeights(args, o);
    for (int64_t r = 0; r < args.rows; ++r) {
      double sum = 0, loose = 0;
      for (int64_t i = 0; i < args.k; ++i) {
        const double w = weights[static_cast<size_t>(i)];
        sum += w * x[r * ldx + i];
        // A little over a half: v * r and d are rounded too.
        loose += std::fabs(w) * 0.5001 * args.a[(r * args.k + i) / 32].d;
      }
      if (args.bias != nullptr) sum += args.bias[o];
      value[r * outs.size() + o - outs.begin] = sum;
      slack[r * outs.size() + o - outs.begin] = loose;
    }
  }
}

}  // namespace fg
