#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cpu/cpu_level.h"

namespace fg {

// Angles position * base^(-2i/dims) in double, i in [0, dims/2), rounded to f32 after cos and sin.
struct RopeTable {
  int64_t positions = 0;
  int64_t pairs = 0;          // dims/2
  std::vector<float> cosine;  // [positions][pairs]
  std::vector<float> sine;    // [positions][pairs]
};
RopeTable MakeRopeTable(int64_t positions, int64_t dims, double base);

// Rotates in place the pairs (i, i + pairs) of each head of x[rows][ldx], heads of head_dim values;
// row r stands at position positions[r] < table.positions. x0' = fma(-x1, sin, x0*cos),
// x1' = fma(x1, cos, x0*sin). Values from 2*pairs on stay as they are.
void Rope(CpuLevel level, float* x, int64_t ldx, int64_t rows, int64_t heads, int64_t head_dim,
          const int32_t* positions, const RopeTable& table);

}  // namespace fg
