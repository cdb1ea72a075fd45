#include "kernels/cuda/rms_norm.h"

#include "kernels/cuda/activations_row.cuh"
#include "kernels/cuda/pdl.cuh"

namespace fg::cuda {
namespace {

constexpr int kMostThreads = static_cast<int>(kRmsNormMostLanes / 4);
constexpr int kHeldSteps = 4;

// One row of RmsNormArgs.
struct Row {
  const float* x;
  const float* add;
  float* sum;
  float add_scale;  // a product with 1 changes nothing
  const float* weight;
  float eps;
  int n;
  RowOutputs out;

  __device__ Row(const RmsNormArgs& a, int64_t row)
      : x(a.x + row * a.n),
        add(a.add == nullptr ? nullptr : a.add + row * a.n),
        sum(a.sum == nullptr ? nullptr : a.sum + row * a.n),
        add_scale(a.add_scale == nullptr ? 1.0f : a.add_scale[row]),
        weight(a.weight),
        eps(a.eps),
        n(static_cast<int>(a.n)),
        out(RowOutputs{a.y, a.f16, a.f16_scale, a.chunks}.Row(row, n)) {}

  __device__ float Scale(float ss) const { return 1.0f / sqrtf(ss / static_cast<float>(n) + eps); }
};

__device__ float4 Plus(float4 a, float4 b) {
  return make_float4(__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z),
                     __fadd_rn(a.w, b.w));
}

__device__ void SumSquares(float4 v, float4& ss) {
  ss.x = __fmaf_rn(v.x, v.x, ss.x);
  ss.y = __fmaf_rn(v.y, v.y, ss.y);
  ss.z = __fmaf_rn(v.z, v.z, ss.z);
  ss.w = __fmaf_rn(v.w, v.w, ss.w);
}

// The four lanes of a thread.
__device__ float Join(float4 ss) { return __fadd_rn(__fadd_rn(ss.x, ss.y), __fadd_rn(ss.z, ss.w)); }

__device__ float4 Weighted(float4 v, float s, float4 w) {
  return make_float4(__fmul_rn(__fmul_rn(v.x, s), w.x), __fmul_rn(__fmul_rn(v.y, s), w.y),
                     __fmul_rn(__fmul_rn(v.z, s), w.z), __fmul_rn(__fmul_rn(v.w, s), w.w));
}

// QuantizeGroup<4> of each step, side by side: of one row nothing else hides how long a step's
// shuffles take.
__device__ void QuantizeHeld(ActivationChunk* chunks, int n, const float4 (&v)[kHeldSteps]) {
  const int lane = static_cast<int>(threadIdx.x) % 8;
  uint32_t largest[kHeldSteps];
  float r[kHeldSteps];
  int q[kHeldSteps][4], sum[kHeldSteps], other[kHeldSteps];
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) {
    largest[j] = max(max(MagnitudeBits(v[j].x), MagnitudeBits(v[j].y)),
                     max(MagnitudeBits(v[j].z), MagnitudeBits(v[j].w)));
  }
#pragma unroll
  for (int step = 4; step > 0; step /= 2) {
#pragma unroll
    for (int j = 0; j < kHeldSteps; ++j) {
      largest[j] = max(largest[j], __shfl_xor_sync(kWholeWarp, largest[j], step));
    }
  }
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) {
    const float amax = __uint_as_float(largest[j]);
    const bool some = largest[j] < kInfinityBits && amax >= 0x1p-100f;
    r[j] = __fdiv_rn(127.0f, some ? amax : 1.0f);
    const float four[4] = {v[j].x, v[j].y, v[j].z, v[j].w};
    sum[j] = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      q[j][i] = some ? __float2int_rn(__fmul_rn(four[i], r[j])) : 0;
      sum[j] += q[j][i];
    }
  }
#pragma unroll
  for (int step = 2; step > 0; step /= 2) {
#pragma unroll
    for (int j = 0; j < kHeldSteps; ++j) sum[j] += __shfl_xor_sync(kWholeWarp, sum[j], step);
  }
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) other[j] = __shfl_xor_sync(kWholeWarp, sum[j], 4);
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) {
    const int at = 4 * static_cast<int>(j * blockDim.x + threadIdx.x);
    if (at >= n) continue;
    ActivationChunk* chunk = chunks + at / kBlock32;
    reinterpret_cast<uint32_t*>(chunk->q)[lane] =
        (static_cast<uint32_t>(q[j][0]) & 0xFFu) | (static_cast<uint32_t>(q[j][1]) & 0xFFu) << 8 |
        (static_cast<uint32_t>(q[j][2]) & 0xFFu) << 16 | static_cast<uint32_t>(q[j][3]) << 24;
    if (lane != 0) continue;
    const float amax = __uint_as_float(largest[j]);
    const bool finite = largest[j] < kInfinityBits;
    const uint32_t d = !finite             ? 0x7FC00000u
                       : amax >= 0x1p-100f ? __float_as_uint(__fdiv_rn(amax, 127.0f))
                                           : 0;
    const uint32_t sums =
        (static_cast<uint32_t>(sum[j]) & 0xFFFFu) | static_cast<uint32_t>(other[j]) << 16;
    *reinterpret_cast<uint2*>(&chunk->d) = make_uint2(d, sums);
  }
}

// Writes a row that the block holds: step j of thread t is the values from 4*(j*blockDim.x + t) on.
template <bool kVector>
__device__ void WriteHeldRow(const RowOutputs& out, int n, const float4 (&v)[kHeldSteps],
                             uint32_t (&maxima)[kMostWarps]) {
  if (out.y == nullptr && out.f16 == nullptr && out.chunks != nullptr) {
    QuantizeHeld(out.chunks, n, v);
    return;
  }
  uint32_t amax_bits = 0;
  if (out.f16 != nullptr) {
    float amax = 0;
#pragma unroll
    for (int j = 0; j < kHeldSteps; ++j) amax = Largest(amax, v[j]);
    amax_bits = BlockMax(__float_as_uint(amax), maxima);
  }
  const RowScale scale = ScaleOfRow(out, amax_bits);
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) {
    const int at = 4 * static_cast<int>(j * blockDim.x + threadIdx.x);
    WriteFour<kVector>(out, at, n, v[j], scale);
  }
}

// The block holds its row: n <= kHeldSteps * 4 * blockDim.x. All loads are issued before the first
// use: of one row nothing else hides how long they take. kAdd says whether there is an `add`: a
// branch on it would come between them.
template <bool kVector, bool kAdd>
__global__ void __launch_bounds__(kMostThreads) RmsNormHeld(RmsNormArgs args) {
  __shared__ float sums[kMostWarps];
  __shared__ uint32_t maxima[kMostWarps];
  LetNextLaunchStart();
  const auto at = [](int j) { return 4 * static_cast<int>(j * blockDim.x + threadIdx.x); };
  float4 v[kHeldSteps], add[kHeldSteps], weight[kHeldSteps];
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) {
    weight[j] = Load4<kVector>(args.weight, at(j), static_cast<int>(args.n));
  }
  WaitForLaunchBefore();
  const Row row(args, blockIdx.x);
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) v[j] = Load4<kVector>(row.x, at(j), row.n);
  if constexpr (kAdd) {
#pragma unroll
    for (int j = 0; j < kHeldSteps; ++j) add[j] = Load4<kVector>(row.add, at(j), row.n);
  }
  if constexpr (kAdd) {
#pragma unroll
    for (int j = 0; j < kHeldSteps; ++j) v[j] = Plus(Times(add[j], row.add_scale), v[j]);
  }
  if (row.sum != nullptr) {
#pragma unroll
    for (int j = 0; j < kHeldSteps; ++j) Store4<kVector>(row.sum, at(j), row.n, v[j]);
  }
  float4 ss = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) SumSquares(v[j], ss);
  const float s = row.Scale(BlockSum(Join(ss), sums));
#pragma unroll
  for (int j = 0; j < kHeldSteps; ++j) v[j] = Weighted(v[j], s, weight[j]);
  WriteHeldRow<kVector>(row.out, row.n, v, maxima);
}

// Any n: the row is read again for every pass. With `sum` the first pass writes it and the later
// ones read it, each thread what it wrote itself, so that x and add may lie there.
template <bool kVector>
__global__ void __launch_bounds__(kMostThreads) RmsNormWide(RmsNormArgs args) {
  __shared__ float sums[kMostWarps];
  __shared__ uint32_t maxima[kMostWarps];
  LetNextLaunchStart();
  WaitForLaunchBefore();
  const Row row(args, blockIdx.x);
  const int step = 4 * static_cast<int>(blockDim.x);
  const int first = 4 * static_cast<int>(threadIdx.x);
  const auto input = [&](int at) {
    const float4 v = Load4<kVector>(row.x, at, row.n);
    if (row.add == nullptr) return v;
    return Plus(Times(Load4<kVector>(row.add, at, row.n), row.add_scale), v);
  };
  float4 ss = make_float4(0, 0, 0, 0);
  for (int at = first; at < row.n; at += step) {
    const float4 v = input(at);
    if (row.sum != nullptr) Store4<kVector>(row.sum, at, row.n, v);
    SumSquares(v, ss);
  }
  const float s = row.Scale(BlockSum(Join(ss), sums));
  const auto output = [&](int at) {
    const float4 v = row.sum != nullptr ? Load4<kVector>(row.sum, at, row.n) : input(at);
    return Weighted(v, s, Load4<kVector>(row.weight, at, row.n));
  };
  float amax = 0;
  if (row.out.f16 != nullptr) {
    for (int at = first; at < row.n; at += step) amax = Largest(amax, output(at));
  }
  const RowScale scale = ScaleOfRow(row.out, BlockMax(__float_as_uint(amax), maxima));
  for (int base = 0; base < row.n; base += step) {
    WriteFour<kVector>(row.out, base + first, row.n, output(base + first), scale);
  }
}

template <bool kVector>
cudaError_t Launch(const RmsNormArgs& args, cudaStream_t stream) {
  const unsigned grid = static_cast<unsigned>(args.rows);
  const int threads = static_cast<int>(RmsNormLanes(args.n) / 4);
  if (args.n > kHeldSteps * 4 * threads) {
    return LaunchOverlapping<RmsNormWide<kVector>>(grid, threads, 0, stream, args);
  }
  if (args.add == nullptr) {
    return LaunchOverlapping<RmsNormHeld<kVector, false>>(grid, threads, 0, stream, args);
  }
  return LaunchOverlapping<RmsNormHeld<kVector, true>>(grid, threads, 0, stream, args);
}

}  // namespace

cudaError_t RmsNorm(const RmsNormArgs& args, cudaStream_t stream) {
  if (!ValidRows(args.rows, args.n) || (args.f16 != nullptr) != (args.f16_scale != nullptr) ||
      (args.chunks != nullptr && args.n % kBlock32 != 0)) {
    return cudaErrorInvalidValue;
  }
  if (args.rows == 0 || args.n == 0) return cudaSuccess;
  if (VectorRows(args.n, args.x, args.add, args.sum, args.weight, args.y, args.f16)) {
    return Launch<true>(args, stream);
  }
  return Launch<false>(args, stream);
}

}  // namespace fg::cuda
