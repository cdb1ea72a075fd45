#include "kernels/cuda/rope_kv.h"

#include "kernels/cuda/pdl.cuh"
#include "kernels/cuda/quantize.cuh"

namespace fg::cuda {
namespace {

constexpr int kThreads = 128;

// A row's work in items of kWide pairs, or kWide values where nothing turns: those of q's heads,
// then k's, then v's.
struct Items {
  unsigned pairs, head, q, k, all;  // of a head: its pairs, all; then where q's, k's and v's end
};

template <int kWide>
Items ItemsOf(const RopeKvArgs& a) {
  const int64_t pairs = a.tables.pairs / kWide;
  const int64_t head = pairs + (a.head_dim - 2 * a.tables.pairs) / kWide;
  const int64_t q = a.q == nullptr ? 0 : a.heads * head;
  const int64_t k = q + (a.k == nullptr ? 0 : a.kv_heads * head);
  const int64_t all = k + (a.v == nullptr ? 0 : a.kv_heads * (a.head_dim / kWide));
  return {static_cast<unsigned>(pairs), static_cast<unsigned>(head), static_cast<unsigned>(q),
          static_cast<unsigned>(k), static_cast<unsigned>(all)};
}

// One or four.
template <int kWide>
struct Values {
  float v[kWide];
};

// Four at once. The stores are written as intrinsics: the compiler takes an assignment apart here.
template <int kWide>
__device__ Values<kWide> Load(const float* from) {
  if constexpr (kWide == 4) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    return {{v.x, v.y, v.z, v.w}};
  } else {
    return {{*from}};
  }
}

template <int kWide>
__device__ void Store(float* to, const Values<kWide>& x) {
  if constexpr (kWide == 4) {
    __stwb(reinterpret_cast<float4*>(to), make_float4(x.v[0], x.v[1], x.v[2], x.v[3]));
  } else {
    *to = x.v[0];
  }
}
template <int kWide>
__device__ void Store(uint16_t* to, const Values<kWide>& x) {
  if constexpr (kWide == 4) {
    __stwb(reinterpret_cast<uint2*>(to),
           make_uint2(F16Pair(x.v[0], x.v[1]), F16Pair(x.v[2], x.v[3])));
  } else {
    *to = F16Bits(x.v[0]);
  }
}

// x from index `at` on, scaled, then with its bias.
template <int kWide>
__device__ Values<kWide> Prepared(const float* x, const float* bias, int64_t at,
                                  const float* scale) {
  Values<kWide> v = Load<kWide>(x + at);
  if (scale != nullptr) {
#pragma unroll
    for (int i = 0; i < kWide; ++i) v.v[i] = __fmul_rn(v.v[i], *scale);
  }
  if (bias != nullptr) {
    const Values<kWide> b = Load<kWide>(bias + at);
#pragma unroll
    for (int i = 0; i < kWide; ++i) v.v[i] = __fadd_rn(v.v[i], b.v[i]);
  }
  return v;
}

// Item `item` of one row of heads of q or k: x and y of the row, bias of the width.
template <int kWide, typename Out>
__device__ void Turn(const RopeKvArgs& a, const Items& items, unsigned item, int64_t position,
                     const float* scale, const float* x, const float* bias, Out* y) {
  const unsigned part = item % items.head;
  const int64_t head = item / items.head * a.head_dim;
  if (part >= items.pairs) {
    const int64_t at = head + 2 * a.tables.pairs + kWide * static_cast<int64_t>(part - items.pairs);
    Store(y + at, Prepared<kWide>(x, bias, at, scale));
    return;
  }
  const int64_t i = kWide * static_cast<int64_t>(part);
  const int64_t low = head + i, high = low + a.tables.pairs;
  Values<kWide> x0 = Prepared<kWide>(x, bias, low, scale);
  Values<kWide> x1 = Prepared<kWide>(x, bias, high, scale);
  const int64_t entry = position * a.tables.pairs + i;
  const Values<kWide> cosine = Load<kWide>(a.tables.cosine + entry);
  const Values<kWide> sine = Load<kWide>(a.tables.sine + entry);
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    const float v0 = x0.v[j], v1 = x1.v[j];
    x0.v[j] = __fmaf_rn(-v1, sine.v[j], __fmul_rn(v0, cosine.v[j]));
    x1.v[j] = __fmaf_rn(v1, cosine.v[j], __fmul_rn(v0, sine.v[j]));
  }
  Store(y + low, x0);
  Store(y + high, x1);
}

template <int kWide>
__global__ void __launch_bounds__(kThreads) RopeKvKernel(RopeKvArgs a, Items items) {
  LetNextLaunchStart();
  const int64_t row = blockIdx.x;
  const unsigned item = blockIdx.y * kThreads + threadIdx.x;
  const int64_t position = a.positions[row];  // no launch writes positions
  WaitForLaunchBefore();
  if (item >= items.all) return;
  const float* scale = a.scale == nullptr ? nullptr : a.scale + row;
  const int64_t q_width = a.heads * a.head_dim, width = a.kv_heads * a.head_dim;
  if (item < items.q) {
    Turn<kWide>(a, items, item, position, scale, a.q + row * q_width, a.q_bias,
                a.q_out + row * q_width);
  } else if (item < items.k) {
    Turn<kWide>(a, items, item - items.q, position, scale, a.k + row * width, a.k_bias,
                a.keys + position * width);
  } else {
    const int64_t at = kWide * static_cast<int64_t>(item - items.k);
    Store(a.values + position * width + at,
          Prepared<kWide>(a.v + row * width, a.v_bias, at, scale));
  }
}

template <typename... Pointers>
bool Aligned(size_t bytes, Pointers... pointers) {
  return ((reinterpret_cast<uintptr_t>(pointers) % bytes == 0) && ...);
}

template <int kWide>
cudaError_t LaunchWide(const RopeKvArgs& a, cudaStream_t stream) {
  const Items items = ItemsOf<kWide>(a);
  if (items.all == 0) return cudaSuccess;
  const unsigned blocks = (items.all + kThreads - 1) / kThreads;
  if (blocks > 65535) return cudaErrorInvalidValue;
  return LaunchOverlapping<RopeKvKernel<kWide>>(dim3(static_cast<unsigned>(a.rows), blocks),
                                                kThreads, 0, stream, a, items);
}

// q, k and v each where it is not null.
cudaError_t Launch(const RopeKvArgs& a, cudaStream_t stream) {
  const int64_t widest = (a.heads > a.kv_heads ? a.heads : a.kv_heads) * a.head_dim;
  if (a.rows < 0 || a.rows > INT32_MAX || a.heads < 0 || a.kv_heads < 0 || a.head_dim < 0 ||
      widest > INT32_MAX / 4 || a.tables.pairs < 0 || 2 * a.tables.pairs > a.head_dim) {
    return cudaErrorInvalidValue;
  }
  if (a.rows == 0) return cudaSuccess;
  const bool four = a.head_dim % 4 == 0 && a.tables.pairs % 4 == 0 &&
                    Aligned(16, a.q, a.k, a.v, a.q_bias, a.k_bias, a.v_bias, a.q_out,
                            a.tables.cosine, a.tables.sine) &&
                    Aligned(8, a.keys, a.values);
  return four ? LaunchWide<4>(a, stream) : LaunchWide<1>(a, stream);
}

}  // namespace

cudaError_t RopeKv(const RopeKvArgs& args, cudaStream_t stream) {
  if (args.head_dim % 2 != 0) return cudaErrorInvalidValue;
  return Launch(args, stream);
}

cudaError_t Rope(const float* x, const int32_t* positions, const RopeTables& tables, int64_t rows,
                 int64_t heads, int64_t head_dim, float* y, cudaStream_t stream) {
  RopeKvArgs args;
  args.q = x;
  args.q_out = y;
  args.positions = positions;
  args.tables = tables;
  args.rows = rows;
  args.heads = heads;
  args.head_dim = head_dim;
  return RopeKv(args, stream);
}

// One head of n values in which no pair turns.
cudaError_t KvStore(const float* k, const float* v, const int32_t* positions, int64_t rows,
                    int64_t n, uint16_t* keys, uint16_t* values, cudaStream_t stream) {
  RopeKvArgs args;
  args.k = k;
  args.v = v;
  args.positions = positions;
  args.rows = rows;
  args.kv_heads = 1;
  args.head_dim = n;
  args.keys = keys;
  args.values = values;
  return Launch(args, stream);
}

}  // namespace fg::cuda
