// gemm.h twice over: its contract in the plainest C++, and exact double.
#pragma once

#include <cstdint>
#include <vector>

namespace fg {

// a and exponents as RoundRowsToF16 gives them, by counting k2 up and rounding in double.
void RoundRowsToF16Contract(const float* x, int64_t ldx, int64_t rows, int64_t k, uint16_t* a,
                            int32_t* exponents);

// y[rows][out] of w [out][k]; x [rows][ldx] holds what is multiplied, exponents [rows] or null,
// bias [out] or null. f16 and bf16 operands are given as the f32 that they are.
void GemmContract(const float* w, const float* x, int64_t ldx, const int32_t* exponents,
                  int64_t rows, int64_t k, int64_t out, const float* bias, float* y);

// The same in double, with what bounds the error of a sum in f32 in any order: for each output
// (k + 2) * 2^-24 * (the sum of the terms' magnitudes, the bias included), and 1 % for higher
// orders.
struct GemmExactResult {
  std::vector<double> y;      // [rows][out]
  std::vector<double> bound;  // [rows][out]
};
GemmExactResult GemmExact(const float* w, const float* x, int64_t ldx, const int32_t* exponents,
                          int64_t rows, int64_t k, int64_t out, const float* bias);

}  // namespace fg
