// Rotation of q and k to their positions and the store of k and v, together or each by itself.
// Pairs (i, i + pairs): x0' = fma(-x1, sin, x0*cos), x1' = fma(x1, cos, x0*sin); tables
// [positions][pairs] f32 on the device. positions [rows] lie on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fg::cuda {

struct RopeTables {
  const float* cosine = nullptr;  // [positions][pairs]
  const float* sine = nullptr;
  int64_t pairs = 0;  // at most head_dim/2; values from 2*pairs on stay
};

struct RopeKvArgs {
  const float *q = nullptr, *k = nullptr,
              *v = nullptr;      // [rows][heads*head_dim], [rows][kv_heads*head_dim] twice
  const float* scale = nullptr;  // [rows] or null: q, k and v are multiplied by it first
  const float *q_bias = nullptr, *k_bias = nullptr,
              *v_bias = nullptr;  // or null; added next, before the rotation
  const int32_t* positions = nullptr;
  RopeTables tables;
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  float* q_out = nullptr;  // [rows][heads*head_dim]; may be q
  // The layer's cache, [position][kv_heads*head_dim] f16, nearest even; row r goes to positions[r].
  uint16_t *keys = nullptr, *values = nullptr;
};
// One launch for q, k and v. The same bits as ScaleBias, Rope and KvStore one after the other.
cudaError_t RopeKv(const RopeKvArgs& args, cudaStream_t stream);

// y[rows][heads*head_dim] = x rotated; y may be x.
cudaError_t Rope(const float* x, const int32_t* positions, const RopeTables& tables, int64_t rows,
                 int64_t heads, int64_t head_dim, float* y, cudaStream_t stream);
// keys/values[positions[r]][n] = k/v[r][n] as f16.
cudaError_t KvStore(const float* k, const float* v, const int32_t* positions, int64_t rows,
                    int64_t n, uint16_t* keys, uint16_t* values, cudaStream_t stream);

}  // namespace fg::cuda
