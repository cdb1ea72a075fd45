// Planes of weights, built once when a weight is registered (kernels/formats/planes.h). Plain C++
// on every level: they run once.
#pragma once

#include <cstdint>

#include "kernels/cpu/range.h"
#include "kernels/formats/planes.h"
#include "kernels/kernel_fault.h"

namespace fg {

// plane[k/32][out] from the q4_K rows w[out][k], for o in outs; both products are exact in f32.
// Faults: kRoundedScales.
void BuildScalePlane(const void* w, int64_t k, int64_t out, Range outs, ScalePair* plane,
                     KernelFault fault = KernelFault::kNone);

// plane[out][k/32] from the q6_K rows w[out][k], for o in outs. Faults: kSwapHalfScales.
void BuildExpandedPlane(const void* w, int64_t k, Range outs, ExpandedChunkQ6_K* plane,
                        KernelFault fault = KernelFault::kNone);

}  // namespace fg
