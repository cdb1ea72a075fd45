// Two references of the int8 matrix product, for tests: the contract's arithmetic in plain scalar
// C++ (bitwise) and the real numbers behind it in double. docs/arithmetic.md "Output".
#pragma once

#include "kernels/cpu/mmq.h"
#include "kernels/cpu/range.h"

namespace fg {

// Mmq's result, value by value: types q4_0, q4_K, q6_K.
void MmqContract(const MmqArgs& args, Range outs);

// The exact product of the dequantized weights with the quantized activations d * q, plus bias;
// args.y is not read. value and magnitude are [rows][outs.size()]; magnitude is the sum over the
// chunks of |isum*ws*da| + |wm*da*msum|, what a rounding error is relative to.
void MmqExact(const MmqArgs& args, Range outs, double* value, double* magnitude);

// The same product with the activations as they were before quantization, x [rows][ldx]. slack is
// [rows][outs.size()]: what half a quantization step of every activation can change.
void MmqExactFloat(const MmqArgs& args, const float* x, int64_t ldx, Range outs, double* value,
                   double* slack);

}  // namespace fg
