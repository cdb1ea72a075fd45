#include "engine/backend/cpu/cpu_operations.h"

#include <algorithm>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_ops.h"

namespace fg {

Status CpuOperations::QuantizeRows(const float* x, int64_t rows, int64_t k,
                                   ActivationChunk* plane) {
  RunQuantizeRows(context_, x, rows, k, plane, PhaseOfRows(rows));
  return Status::Ok();
}

Status CpuOperations::Matmul(const WeightView& view, const float* x, int64_t rows,
                             const float* bias, float* y) {
  return RunMatmulAlone(context_, view, x, rows, bias, y, PhaseOfRows(rows));
}

Status CpuOperations::RmsNorm(const float* x, const float* w, int64_t rows, int64_t n, float eps,
                              float* y) {
  RunRmsNorm(context_, x, w, rows, n, eps, y, PhaseOfRows(rows));
  return Status::Ok();
}

Status CpuOperations::Swiglu(const float* g, const float* u, int64_t rows, int64_t n, float* y) {
  RunSwiglu(context_, g, u, rows, n, y, PhaseOfRows(rows));
  return Status::Ok();
}

Status CpuOperations::Rope(float* x, int64_t rows, int64_t heads, int64_t head_dim,
                           const int32_t* positions, double base) {
  const int32_t last = *std::max_element(positions, positions + rows);
  const RopeTable table = MakeRopeTable(int64_t{last} + 1, head_dim, base);
  RunRope(context_, x, rows, heads, head_dim, positions, table, PhaseOfRows(rows));
  return Status::Ok();
}

Status CpuOperations::Attention(const AttentionShape& shape, const float* q, const uint16_t* keys,
                                const uint16_t* values, const int32_t* at, float* y) {
  const int64_t row_values = shape.heads * shape.head_dim;
  const AttentionArgs args = {.q = q,
                              .ldq = row_values,
                              .keys = keys,
                              .values = values,
                              .positions = at,
                              .rows = shape.rows,
                              .heads = shape.heads,
                              .kv_heads = shape.kv_heads,
                              .head_dim = shape.head_dim,
                              .y = y,
                              .ldy = row_values};
  return RunAttention(context_, args, PhaseOfRows(shape.rows));
}

Status CpuOperations::Exp(const float* x, int64_t n, float* y) {
  RunExp(context_, x, n, y, Phase::kDecode);
  return Status::Ok();
}

Status CpuOperations::QuantizeTiles(const float* x, int64_t rows, int64_t k,
                                    ActivationTile* plane) {
  RunQuantizeTiles(context_, x, rows, k, plane, PhaseOfRows(rows));
  return Status::Ok();
}

Status CpuOperations::RmsNormTiles(const float* x, const float* w, int64_t rows, int64_t n,
                                   float eps, int mode, float* y, ActivationTile* plane) {
  RunRmsNormTiles(context_, x, w, rows, n, eps, mode, y, plane, PhaseOfRows(rows));
  return Status::Ok();
}

Status CpuOperations::SwigluTiles(const float* g, const float* u, int64_t rows, int64_t n, int mode,
                                  float* y, ActivationTile* plane) {
  RunSwigluTiles(context_, g, u, rows, n, mode, y, plane, PhaseOfRows(rows));
  return Status::Ok();
}

}  // namespace fg
