// Which kernel a matmul takes: the path table of docs/arithmetic.md, in one place.
#pragma once

#include <cstdint>
#include <string>

#include "engine/gates.h"
#include "engine/phase.h"
#include "kernels/formats/tensor_type.h"
#include "kernels/kernel_fault.h"

namespace fg {

enum class MatmulPath {
  kRows,     // the one-row kernels, row by row
  kGemmF16,  // f16 weights, or the f16 cache of quantized ones
  kGemmBF16,
  kGemmF32,
  kMmqGeneric,
  kMmqRaw,
  kMmqNibble,
};

struct MatmulChoice {
  MatmulPath path = MatmulPath::kRows;
  std::string label;  // docs/probe.md "Labels"
};

// For `rows` rows of k values. Reads gates, counted in `phase`, only for 16 rows or more, k a
// multiple of 32 and a quantized type; asks a gate only where the table needs its answer. The same
// function decides at load (16 rows) which weights get an f16 cache, so load and dispatch cannot
// disagree.
MatmulChoice ChooseMatmulPath(const Gates& gates, TensorType type, int64_t k, int64_t rows,
                              Phase phase);

// The planted defect of the kernel on `path`.
KernelFault KernelFaultOf(const Faults& faults, MatmulPath path);

}  // namespace fg
