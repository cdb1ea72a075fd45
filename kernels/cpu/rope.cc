#include "kernels/cpu/rope.h"

#include <cmath>

#include "kernels/cpu/rope_avx2.h"

namespace fg {
namespace {

void RotateHead(float* head, int64_t pairs, const float* cosine, const float* sine) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float x0 = head[i];
    const float x1 = head[i + pairs];
    head[i] = std::fma(-x1, sine[i], x0 * cosine[i]);
    head[i + pairs] = std::fma(x1, cosine[i], x0 * sine[i]);
  }
}

}  // namespace

RopeTable MakeRopeTable(int64_t positions, int64_t dims, double base) {
  RopeTable table;
  table.positions = positions;
  table.pairs = dims / 2;
  table.cosine.reserve(static_cast<size_t>(positions * table.pairs));
  table.sine.reserve(static_cast<size_t>(positions * table.pairs));
  for (int64_t position = 0; position < positions; ++position) {
    for (int64_t i = 0; i < table.pairs; ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dims);
      const double angle = static_cast<double>(position) * std::pow(base, exponent);
      table.cosine.push_back(static_cast<float>(std::cos(angle)));
      table.sine.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

void Rope(CpuLevel level, float* x, int64_t ldx, int64_t rows, int64_t heads, int64_t head_dim,
          const int32_t* positions, const RopeTable& table) {
  const auto rotate = level >= CpuLevel::kAvx2 ? avx2::RotateHead : RotateHead;
  for (int64_t r = 0; r < rows; ++r) {
    const float* cosine = table.cosine.data() + positions[r] * table.pairs;
    const float* sine = table.sine.data() + positions[r] * table.pairs;
    for (int64_t h = 0; h < heads; ++h) {
      rotate(x + r * ldx + h * head_dim, table.pairs, cosine, sine);
    }
  }
}

}  // namespace fg
