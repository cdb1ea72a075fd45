// The engine's operations on the CPU: each shares its outputs, rows or heads out to the context's
// threads and counts its label. Graph nodes and the probe's `op` come through the same entries, so
// what the probe measures is what a forward runs.
//
// Rows are dense: x[rows][k]. `phase` is the forward's (PhaseOfRows(rows) for an operation by
// itself).
#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/backend/cpu/cpu_context.h"
#include "engine/model/weight_view.h"
#include "engine/phase.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/rope.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/planes.h"

namespace fg {

// A matmul weight as the CPU runs it.
struct CpuWeight {
  WeightView view;
  // Each null where none is built.
  const uint16_t* f16 = nullptr;                // [out][k] f16 cache of a quantized weight
  const ScalePair* scales = nullptr;            // q4_K: [k/32][out]
  const ExpandedChunkQ6_K* expanded = nullptr;  // q6_K: [out][k/32]
};

// What a weight must be for RunMatmul: a type with kernels, k a multiple of its block, k and out at
// least 1. kBadModel names the weight.
Status CheckMatmulWeight(const WeightView& view);

// y[rows][out] = x[rows][k] * w + bias (bias [out] or null). The path is MatmulPathFor's; gates are
// read for 16 rows or more only. A path whose weight plane is not there runs without it, its label
// marked with '!'. `node` is the graph's that wrote x. kInternal for an f16 path without its cache;
// kOutOfMemory where the activation plane does not fit; kRefused by the plane cache
// (engine/backend/cpu/activation_planes.h).
Status RunMatmul(CpuContext& context, const CpuWeight& weight, const float* x, int64_t rows,
                 const float* bias, float* y, Phase phase, int node = PlaneSource::kNoNode);

// RunMatmul for a weight that no model registered: checks it, and registers it for this one call
// (kBadModel names a value beyond f16). The plane cache is cleared.
Status RunMatmulAlone(CpuContext& context, const WeightView& view, const float* x, int64_t rows,
                      const float* bias, float* y, Phase phase);

// plane[rows][k/32]; k a multiple of 32.
void RunQuantizeRows(CpuContext& context, const float* x, int64_t rows, int64_t k,
                     ActivationChunk* plane, Phase phase);

// The same rows into tiles: plane[TileCount(rows)][k/32].
void RunQuantizeTiles(CpuContext& context, const float* x, int64_t rows, int64_t k,
                      ActivationTile* plane, Phase phase);

// y[rows][n]; y is never x (docs/arithmetic.md "The skip-write window").
void RunRmsNorm(CpuContext& context, const float* x, const float* w, int64_t rows, int64_t n,
                float eps, float* y, Phase phase, const char* label = "rms_norm");

// y[rows][n]; y is never g or u.
void RunSwiglu(CpuContext& context, const float* g, const float* u, int64_t rows, int64_t n,
               float* y, Phase phase, const char* label = "swiglu");

// The fused producers of `mode` 1 or 2: plane[TileCount(rows)][n/32] of RunRmsNorm's and
// RunSwiglu's rows, n a multiple of 32; y is written in mode 1 and left as it is in mode 2.
void RunRmsNormTiles(CpuContext& context, const float* x, const float* w, int64_t rows, int64_t n,
                     float eps, int mode, float* y, ActivationTile* plane, Phase phase);
void RunSwigluTiles(CpuContext& context, const float* g, const float* u, int64_t rows, int64_t n,
                    int mode, float* y, ActivationTile* plane, Phase phase);

// In place on x[rows][heads][head_dim]; 0 <= positions[r] < table.positions.
void RunRope(CpuContext& context, float* x, int64_t rows, int64_t heads, int64_t head_dim,
             const int32_t* positions, const RopeTable& table, Phase phase);

// args.positions[r] + 1 positions of keys and values are read for row r. kOutOfMemory where the
// scores do not fit.
Status RunAttention(CpuContext& context, const AttentionArgs& args, Phase phase);

// y[n]: ExpF32 of each.
void RunExp(CpuContext& context, const float* x, int64_t n, float* y, Phase phase);

// y[n] = a[n] + b[n]; y may be a or b.
void RunAdd(CpuContext& context, const float* a, const float* b, int64_t n, float* y, Phase phase);

// y[rows][k] = rows ids[r] of the table, dequantized; ids lie in [0, table.out).
void RunEmbed(CpuContext& context, const WeightView& table, const int32_t* ids, int64_t rows,
              float* y, Phase phase);

// Rows of k and v [rows][row_values], as f16, to row positions[r] of keys and values
// [position][row_values].
void RunKvStore(CpuContext& context, const float* k, const float* v, int64_t rows,
                int64_t row_values, const int32_t* positions, uint16_t* keys, uint16_t* values,
                Phase phase);

// y[rows][n] = rows first.. of x[..][n].
void RunGather(CpuContext& context, const float* x, int64_t first, int64_t rows, int64_t n,
               float* y, Phase phase);

}  // namespace fg
