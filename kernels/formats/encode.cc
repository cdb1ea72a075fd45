#include "kernels/formats/encode.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "kernels/formats/blocks.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

constexpr float kMaxF16 = 65504.0f;

// Nearest integer to v in [low, high], ties to even.
int Nearest(float v, int low, int high) {
  // Clamped first: within +-2^22 adding and taking away 1.5 * 2^23 rounds as rint does.
  const float bounded = std::clamp(v, static_cast<float>(low), static_cast<float>(high));
  return static_cast<int>((bounded + 12582912.0f) - 12582912.0f);
}

// 0 for a scale too small to tell values apart: its inverse could be infinite.
float Inverse(float scale) { return std::fabs(scale) < 0x1p-100f ? 0 : 1 / scale; }

// A scale that the format can hold: saturated, so that no block decodes to infinity.
uint16_t ScaleToF16(float d) { return F32ToF16(std::clamp(d, -kMaxF16, kMaxF16)); }

// Weights of the squared errors: a large weight's error costs more in a dot product, but small
// ones still count.
void ErrorWeights(const float* x, int count, float* weight) {
  double squares = 0;
  for (int i = 0; i < count; ++i) squares += static_cast<double>(x[i]) * x[i];
  const float rms = static_cast<float>(std::sqrt(squares / count));
  for (int i = 0; i < count; ++i) weight[i] = rms + std::fabs(x[i]);
}

float LargestBySize(const float* x, int count) {
  float extreme = 0;
  for (int i = 0; i < count; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  return extreme;
}

// Weighted squared error of x ~ scale * q - min, each q the nearest in [low, high].
double ErrorOf(const float* x, const float* weight, int count, float scale, float min, int low,
               int high) {
  const float inverse = Inverse(scale);
  double error = 0;
  for (int i = 0; i < count; ++i) {
    const int q = Nearest((x[i] + min) * inverse, low, high);
    const double miss = scale * static_cast<float>(q) - min - x[i];
    error += weight[i] * miss * miss;
  }
  return error;
}

// The scale that suits x ~ scale * q best once every q is fixed by `scale` (least squares).
float RefineScale(const float* x, const float* weight, int count, float scale, int low, int high) {
  const float inverse = Inverse(scale);
  double xq = 0, qq = 0;
  for (int i = 0; i < count; ++i) {
    const double q = Nearest(x[i] * inverse, low, high);
    xq += weight[i] * x[i] * q;
    qq += weight[i] * q * q;
  }
  return qq > 0 ? static_cast<float>(xq / qq) : scale;
}

// The best symmetric scale: x's extreme is put near each end of [low, high] in turn, refined, and
// the least error wins. `held` gives the scale as the format will hold it.
template <typename Held>
float SearchScale(const float* x, const float* weight, int count, int low, int high, Held held) {
  const float extreme = LargestBySize(x, count);
  if (extreme == 0) return 0;
  float best = 0;
  double best_error = ErrorOf(x, weight, count, 0, 0, low, high);
  for (const int end : {low, high}) {
    for (int step = -6; step <= 12; ++step) {
      // From a little beyond the end, which saturates the extreme, to well inside it.
      const float place = static_cast<float>(end) * (1 + 0.0125f * static_cast<float>(step));
      const float first = extreme / place;
      for (const float scale :
           {held(first), held(RefineScale(x, weight, count, first, low, high))}) {
        const double error = ErrorOf(x, weight, count, scale, 0, low, high);
        if (error < best_error) {
          best_error = error;
          best = scale;
        }
      }
    }
  }
  return best;
}

// The best f16 scale of a block of 32, with codes from low to high.
float SearchBlockScale(const float* x, int low, int high) {
  float weight[kBlock32];
  ErrorWeights(x, kBlock32, weight);
  const auto held = [](float scale) { return F16ToF32(ScaleToF16(scale)); };
  return SearchScale(x, weight, kBlock32, low, high, held);
}

void EncodeQ4_0(const float* x, BlockQ4_0* block) {
  const float d = SearchBlockScale(x, -8, 7);
  const float inverse = Inverse(d);
  block->d = F32ToF16(d);
  for (int i = 0; i < 16; ++i) {
    const int low = Nearest(x[i] * inverse, -8, 7) + 8;
    const int high = Nearest(x[i + 16] * inverse, -8, 7) + 8;
    block->q[i] = static_cast<uint8_t>(low | (high << 4));
  }
}

void EncodeQ5_0(const float* x, BlockQ5_0* block) {
  const float d = SearchBlockScale(x, -16, 15);
  const float inverse = Inverse(d);
  std::memset(block, 0, sizeof(*block));
  block->d = F32ToF16(d);
  for (int i = 0; i < 32; ++i) {
    const int n = Nearest(x[i] * inverse, -16, 15) + 16;
    uint8_t& low = block->q[i % 16];
    low = static_cast<uint8_t>(low | (n & 15) << (i < 16 ? 0 : 4));
    uint8_t& fifth = block->h[i / 8];
    fifth = static_cast<uint8_t>(fifth | (n >> 4) << i % 8);
  }
}

// With 255 steps a search gains next to nothing: the largest value becomes 127 or -127.
void EncodeQ8_0(const float* x, BlockQ8_0* block) {
  block->d = ScaleToF16(std::fabs(LargestBySize(x, kBlock32)) / 127);
  const float inverse = Inverse(F16ToF32(block->d));
  for (int i = 0; i < 32; ++i) {
    block->q[i] = static_cast<int8_t>(Nearest(x[i] * inverse, -127, 127));
  }
}

struct ScaleAndMin {
  float scale;  // x ~ scale * n - min, n in 0..15
  float min;    // >= 0
};

// One step of least squares for both numbers, every n fixed by `fit`.
ScaleAndMin RefineFit(const float* x, const float* weight, ScaleAndMin fit) {
  const float inverse = Inverse(fit.scale);
  double w1 = 0, n1 = 0, n2 = 0, x1 = 0, xn = 0;
  for (int i = 0; i < kBlock32; ++i) {
    const double n = Nearest((x[i] + fit.min) * inverse, 0, 15);
    const double wn = weight[i] * n;
    w1 += weight[i];
    n1 += wn;
    n2 += wn * n;
    x1 += static_cast<double>(weight[i]) * x[i];
    xn += wn * x[i];
  }
  const double determinant = w1 * n2 - n1 * n1;
  if (!(determinant > 0)) return fit;
  ScaleAndMin next = {static_cast<float>((w1 * xn - n1 * x1) / determinant),
                      static_cast<float>((n1 * xn - n2 * x1) / determinant)};
  // The format has no negative min; the best scale through zero is another one.
  if (next.min < 0) next = {n2 > 0 ? static_cast<float>(xn / n2) : fit.scale, 0};
  return next.scale > 0 ? next : fit;
}

ScaleAndMin SearchFit(const float* x, const float* weight) {
  const float low = std::min(0.0f, *std::min_element(x, x + kBlock32));
  const float high = std::max(low, *std::max_element(x, x + kBlock32));
  ScaleAndMin best = {0, -low};
  if (high == low) return best;
  double best_error = ErrorOf(x, weight, kBlock32, best.scale, best.min, 0, 15);
  for (int step = -8; step <= 20; ++step) {
    ScaleAndMin fit = {(high - low) / (15 + 0.1f * static_cast<float>(step)), -low};
    for (int round = 0; round < 3; ++round) {
      const double error = ErrorOf(x, weight, kBlock32, fit.scale, fit.min, 0, 15);
      if (error < best_error) {
        best_error = error;
        best = fit;
      }
      fit = RefineFit(x, weight, fit);
    }
  }
  return best;
}

// The six-bit pair near `fit` with the least error, given the f16 d and dmin of the super-block.
ScaleMin RoundFit(const float* x, const float* weight, ScaleAndMin fit, float d, float dmin) {
  const int scale0 = d != 0 ? Nearest(fit.scale / d, 0, 63) : 0;
  const int min0 = dmin != 0 ? Nearest(fit.min / dmin, 0, 63) : 0;
  ScaleMin best = {};
  double best_error = HUGE_VALF;
  for (int scale = std::max(0, scale0 - 1); scale <= std::min(63, scale0 + 1); ++scale) {
    for (int min = std::max(0, min0 - 1); min <= std::min(63, min0 + 1); ++min) {
      const double error = ErrorOf(x, weight, kBlock32, d * static_cast<float>(scale),
                                   dmin * static_cast<float>(min), 0, 15);
      if (error < best_error) {
        best_error = error;
        best = {static_cast<uint8_t>(scale), static_cast<uint8_t>(min)};
      }
    }
  }
  return best;
}

void EncodeQ4_K(const float* x, BlockQ4_K* block) {
  float weight[kSuperBlock];
  ScaleAndMin fit[8];
  float largest_scale = 0, largest_min = 0;
  for (int j = 0; j < 8; ++j) {
    ErrorWeights(x + 32 * j, 32, weight + 32 * j);
    fit[j] = SearchFit(x + 32 * j, weight + 32 * j);
    largest_scale = std::max(largest_scale, fit[j].scale);
    largest_min = std::max(largest_min, fit[j].min);
  }
  std::memset(block, 0, sizeof(*block));
  block->d = ScaleToF16(largest_scale / 63);
  block->dmin = ScaleToF16(largest_min / 63);
  const float d = F16ToF32(block->d);
  const float dmin = F16ToF32(block->dmin);
  for (int j = 0; j < 8; ++j) {
    const float* sub = x + 32 * j;
    const ScaleMin pair = RoundFit(sub, weight + 32 * j, fit[j], d, dmin);
    PackScaleMin(pair, j, block->s);
    const float scale = d * pair.scale;
    const float min = dmin * pair.min;
    const float inverse = Inverse(scale);
    for (int i = 0; i < 32; ++i) {
      const int n = Nearest((sub[i] + min) * inverse, 0, 15);
      block->q[32 * (j / 2) + i] |= static_cast<uint8_t>(j % 2 == 0 ? n : n << 4);
    }
  }
}

// The eight-bit scale near `scale` with the least error, given the f16 d of the super-block.
int RoundScale(const float* x, const float* weight, float scale, float d) {
  const int nearest = d != 0 ? Nearest(scale / d, -128, 127) : 0;
  int best = 0;
  double best_error = HUGE_VALF;
  for (int code = std::max(-128, nearest - 1); code <= std::min(127, nearest + 1); ++code) {
    const double error = ErrorOf(x, weight, 16, d * static_cast<float>(code), 0, -32, 31);
    if (error < best_error) {
      best_error = error;
      best = code;
    }
  }
  return best;
}

// Places value v (0..255) with code n (0..63) in its 4 + 2 bits. docs/gguf.md.
void PutQ6(int v, int n, BlockQ6_K* block) {
  const int half = v / 128, c = v % 128 / 32, l = v % 32;
  uint8_t& low = block->ql[64 * half + 32 * (c % 2) + l];
  low = static_cast<uint8_t>(low | ((n & 15) << (c < 2 ? 0 : 4)));
  uint8_t& high = block->qh[32 * half + l];
  high = static_cast<uint8_t>(high | ((n >> 4) << (2 * c)));
}

void EncodeQ6_K(const float* x, BlockQ6_K* block) {
  float weight[kSuperBlock];
  float scales[16];
  const auto held = [](float scale) { return scale; };
  for (int g = 0; g < 16; ++g) {
    ErrorWeights(x + 16 * g, 16, weight + 16 * g);
    scales[g] = SearchScale(x + 16 * g, weight + 16 * g, 16, -32, 31, held);
  }
  std::memset(block, 0, sizeof(*block));
  // The largest scale becomes -128, the end of the range that has no mirror.
  block->d = ScaleToF16(LargestBySize(scales, 16) / -128);
  const float d = F16ToF32(block->d);
  for (int g = 0; g < 16; ++g) {
    const int code = RoundScale(x + 16 * g, weight + 16 * g, scales[g], d);
    block->scales[g] = static_cast<int8_t>(code);
    const float scale = d * static_cast<float>(code);
    const float inverse = Inverse(scale);
    for (int i = 16 * g; i < 16 * g + 16; ++i) {
      PutQ6(i, Nearest(x[i] * inverse, -32, 31) + 32, block);
    }
  }
}

template <typename Block>
void EncodeBlocks(void (*encode)(const float*, Block*), int block_values, const float* x,
                  int64_t values, void* blocks) {
  Block* block = static_cast<Block*>(blocks);
  for (int64_t i = 0; i < values; i += block_values) encode(x + i, block++);
}

}  // namespace

bool EncodeRow(TensorType type, const float* x, int64_t values, void* blocks) {
  assert(values % InfoOf(type).block_values == 0);
  switch (type) {
    case TensorType::kF32:
      std::memcpy(blocks, x, static_cast<size_t>(values) * sizeof(float));
      return true;
    case TensorType::kF16:
      std::transform(x, x + values, static_cast<uint16_t*>(blocks), F32ToF16);
      return true;
    case TensorType::kBF16:
      std::transform(x, x + values, static_cast<uint16_t*>(blocks), F32ToBF16);
      return true;
    case TensorType::kQ4_0:
      EncodeBlocks(EncodeQ4_0, kBlock32, x, values, blocks);
      return true;
    case TensorType::kQ5_0:
      EncodeBlocks(EncodeQ5_0, kBlock32, x, values, blocks);
      return true;
    case TensorType::kQ8_0:
      EncodeBlocks(EncodeQ8_0, kBlock32, x, values, blocks);
      return true;
    case TensorType::kQ4_K:
      EncodeBlocks(EncodeQ4_K, kSuperBlock, x, values, blocks);
      return true;
    case TensorType::kQ6_K:
      EncodeBlocks(EncodeQ6_K, kSuperBlock, x, values, blocks);
      return true;
    default:
      return false;
  }
}

}  // namespace fg
