// Fused producers: an operation whose rows go straight into the tiled, transposed activation plane.
// docs/arithmetic.md "The skip-write window".
#pragma once

#include <cstdint>

#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"
#include "kernels/formats/planes.h"
#include "kernels/kernel_fault.h"

namespace fg {

// The plane of RmsNorm's rows y[rows][n] (kernels/cpu/rms_norm.h), to the bit that QuantizeTiles
// gives; n a multiple of 32. `tiles` are the tiles of 16 rows to make, rows past the last one
// zeros. y [rows][n] is written too where it is not null (mode 1); where it is null nothing but
// the plane is (mode 2). Faults: those of QuantizeTiles.
void RmsNormTiles(CpuLevel level, const float* x, const float* w, int64_t rows, int64_t n,
                  float eps, Range tiles, float* y, ActivationTile* plane,
                  KernelFault fault = KernelFault::kNone);

// The same of Swiglu's (kernels/cpu/swiglu.h): g, u, y [rows][n].
void SwigluTiles(CpuLevel level, const float* g, const float* u, int64_t rows, int64_t n,
                 Range tiles, float* y, ActivationTile* plane,
                 KernelFault fault = KernelFault::kNone);

}  // namespace fg
