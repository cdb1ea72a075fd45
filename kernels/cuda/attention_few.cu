// The entry points of few rows: checks, scratch, the choice of kernel.
#include <algorithm>

#include "kernels/cuda/attention_few.cuh"

namespace fg::cuda {
namespace {

bool IsAt16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

bool AreServed(const AttentionArgs& args, int64_t bucket) {
  if (args.heads < 1 || args.kv_heads < 1 || args.heads % args.kv_heads != 0) return false;
  if (args.head_dim < 2 || args.head_dim > 256 || args.head_dim % 2 != 0) return false;
  if (args.rows < 0 || bucket < 1 || bucket >= INT32_MAX - 4096 || args.scratch == nullptr)
    return false;
  if (args.y == nullptr && args.chunks == nullptr) return false;
  if (args.chunks != nullptr && args.head_dim % 32 != 0) return false;
  if (!IsAt16(args.y) || !IsAt16(args.scratch)) return false;
  return AttentionSliceRows(args.kv_heads, args.heads / args.kv_heads) >= 1;
}

AttentionFewCall CallOf(const AttentionArgs& args, int64_t bucket) {
  const int64_t group = args.heads / args.kv_heads;
  AttentionFewCall call;
  call.args = args;
  call.bucket = static_cast<int>(bucket);
  call.group = static_cast<int>(group);
  call.part = static_cast<int>(AttentionPartLength(bucket));
  call.parts = static_cast<int>(AttentionParts(bucket, bucket));
  call.head_blocks = static_cast<int>(AttentionHeadBlocks(group));
  call.block_heads = static_cast<int>(AttentionHeadsPerBlock(group));
  unsigned char* scratch = static_cast<unsigned char*>(args.scratch);
  call.counters = reinterpret_cast<unsigned*>(scratch);
  call.pairs = reinterpret_cast<float2*>(scratch + AttentionPairsOffset());
  call.sums =
      reinterpret_cast<float*>(scratch + AttentionSumsOffset(args.rows, args.heads, call.parts));
  return call;
}

cudaError_t Launch(const AttentionFewCall& call, cudaStream_t stream) {
  const AttentionArgs& args = call.args;
  const bool aligned = IsAt16(args.keys) && IsAt16(args.values);
  if (args.head_dim == 64 && aligned) return LaunchFew64(call, stream);
  if (args.head_dim == 128 && aligned) return LaunchFew128(call, stream);
  return LaunchFewAny(call, stream);
}

}  // namespace

int64_t AttentionBucket(int64_t length) { return AttentionBucketOf(length); }

int64_t AttentionFewScratch(int64_t rows, int64_t heads, int64_t kv_heads, int64_t head_dim,
                            int64_t length) {
  const int64_t slice = std::min(rows, AttentionSliceRows(kv_heads, heads / kv_heads));
  return AttentionScratchBytes(slice, heads, AttentionMostParts(AttentionBucketOf(length)),
                               head_dim);
}

cudaError_t AttentionFew(const AttentionArgs& args, int64_t bucket, cudaStream_t stream) {
  if (!AreServed(args, bucket)) return cudaErrorInvalidValue;
  const int64_t slice = AttentionSliceRows(args.kv_heads, args.heads / args.kv_heads);
  const int64_t width = args.heads * args.head_dim;
  for (int64_t row = 0; row < args.rows; row += slice) {
    AttentionArgs some = args;
    some.rows = std::min(slice, args.rows - row);
    some.q = args.q + row * width;
    some.positions = args.positions + row;
    if (args.y != nullptr) some.y = args.y + row * width;
    if (args.chunks != nullptr) some.chunks = args.chunks + row * width / 32;
    const cudaError_t error = Launch(CallOf(some, bucket), stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace fg::cuda
