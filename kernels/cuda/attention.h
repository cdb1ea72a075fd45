// Causal attention of query rows over an f16 KV cache, grouped heads (GQA). A row at position p
// sees 0..p; score = dot(q, key) * (1/sqrt(head_dim)). positions [rows] lie on the device.
//
// CUDA's own orders, stated in the files: few rows cut the keys by length, the cut a function of
// `bucket` alone and the parts joined in ascending order; many rows run on tensor cores (f16
// products, f32 sums), keys in blocks of a fixed length from position 0 on, so a row's bits depend
// on its position and not on its neighbours.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg::cuda {

// q, keys, values and y 16-byte aligned (AttentionFew takes other keys and values too, slowly).
struct AttentionArgs {
  const float* q = nullptr;            // [rows][heads*head_dim]
  const uint16_t* keys = nullptr;      // [position][kv_heads*head_dim] f16
  const uint16_t* values = nullptr;    // the same shape
  const int32_t* positions = nullptr;  // [rows]; of AttentionMany consecutive, so the first decides
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  float* y = nullptr;  // [rows][heads*head_dim]; may be null where chunks is not
  // Of AttentionFew alone, or null: QuantizeRows of y, [rows][heads*head_dim/32]; head_dim a
  // multiple of 32.
  ActivationChunk* chunks = nullptr;
  void* scratch = nullptr;  // AttentionFewScratch bytes, 16-byte aligned, not shared; zeroed once
                            // by who took it
};

// The least bucket that holds `length` positions (position + 1 of the last row): what grids and
// captured steps are made for.
int64_t AttentionBucket(int64_t length);
// Bytes for at most `rows` rows in any bucket up to that of `length`.
int64_t AttentionFewScratch(int64_t rows, int64_t heads, int64_t kv_heads, int64_t head_dim,
                            int64_t length);

// 1 to 15 rows (or any number, row by row), any even head_dim up to 256. `bucket` >= every position
// + 1. Each row has the bits that it has alone in that bucket. One launch for each 64 rows (fewer
// where rows * kv_heads would exceed the counters in scratch: 16384).
cudaError_t AttentionFew(const AttentionArgs& args, int64_t bucket, cudaStream_t stream);

// Whether tensor cores serve this head_dim: 64 and 128. Where not, AttentionFew serves all rows.
bool AttentionManyServes(int64_t head_dim);
// The instructions that AttentionMany is made of. Their key blocks differ in length, so do bits.
enum class AttentionForm {
  kMma,    // mma.sync: every card from sm_80 on
  kWgmma,  // wgmma: sm_90, in a build for sm_90a
};
// Whether the current device and this build have the form.
bool AttentionManyHas(AttentionForm form);
// wgmma where it is there, else mma.
AttentionForm AttentionManyBest();
// 16 rows or more (any number is right).
cudaError_t AttentionMany(const AttentionArgs& args, cudaStream_t stream,
                          AttentionForm form = AttentionManyBest());

}  // namespace fg::cuda
