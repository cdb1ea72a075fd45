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
  kMmqTiles,  // the nibble family on the tiled, transposed activation plane
};

// A plane of the weight that the path reads, built when the weight is registered.
enum class WeightPlane { kNone, kScales, kExpanded };
const char* WeightPlaneName(WeightPlane plane);  // "", "scales", "expanded"

struct MatmulChoice {
  MatmulPath path = MatmulPath::kRows;
  WeightPlane plane = WeightPlane::kNone;
  std::string label;  // docs/probe.md "Labels"
  bool operator==(const MatmulChoice&) const = default;
};

// For `rows` rows of k values. Reads gates, counted in `phase`, only for 16 rows or more, k a
// multiple of 32 and a quantized type; asks a gate only where the table needs its answer. The same
// function decides at load (16 rows) which weights get an f16 cache or a plane, so load and
// dispatch cannot disagree.
MatmulChoice ChooseMatmulPath(const Gates& gates, TensorType type, int64_t k, int64_t rows,
                              Phase phase);

// The choice for a weight whose plane did not fit: the same kernel without it, marked with '!'.
MatmulChoice WithoutPlane(const MatmulChoice& choice);

// The same weight on the row-major plane, for Violation::kDeadWrite.
MatmulChoice OnRowMajorPlane(const MatmulChoice& choice, TensorType type);

// The planted defect of the kernel that `choice` runs.
KernelFault KernelFaultOf(const Faults& faults, const MatmulChoice& choice);

}  // namespace fg
