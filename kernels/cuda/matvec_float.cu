// f32, f16 and bf16 weights, the activations unrounded. A warp holds one row; lane l takes groups
// l, l + 32, ... of 4 (f32) or 8 values and loads 16 bytes at a time, where rows are so aligned;
// elsewhere value by value, in the same order.
#include "kernels/cuda/exp.cuh"
#include "kernels/cuda/matvec_launch.cuh"
#include "kernels/cuda/matvec_order.h"
#include "kernels/cuda/quantize.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/formats/half.h"

namespace fg::cuda::matvec {
namespace {

constexpr int kBlocksOnEach = 4;  // multiprocessor, by its registers: 48 to 66 a thread
constexpr int kInFlight = 4;      // groups that a lane loads before it uses the first

template <TensorType kType>
__device__ float ValueOf(uint32_t bits) {
  if constexpr (kType == TensorType::kF32) return __uint_as_float(bits);
  if constexpr (kType == TensorType::kBF16) return __uint_as_float(bits << 16);
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}

// Value i of the row at w.
template <TensorType kType>
__device__ float WeightAt(const uint8_t* w, int64_t i) {
  if constexpr (kType == TensorType::kF32) {
    return ValueOf<kType>(__ldg(reinterpret_cast<const uint32_t*>(w) + i));
  } else {
    return ValueOf<kType>(__ldg(reinterpret_cast<const unsigned short*>(w) + i));
  }
}

// Value i of a group that was loaded whole.
template <TensorType kType>
__device__ float WeightOf(const uint32_t (&words)[4], int i) {
  if constexpr (kType == TensorType::kF32) {
    return ValueOf<kType>(words[i]);
  } else {
    return ValueOf<kType>(i % 2 == 0 ? words[i / 2] & 0xFFFFu : words[i / 2] >> 16);
  }
}

template <TensorType kType, int kRows>
__device__ void AddWholeGroup(const uint4& loaded, const float* x, int64_t k, int first_row,
                              int rows, int64_t at, float (&acc)[kRows]) {
  constexpr int kGroup = FloatGroup(kType);
  const uint32_t words[4] = {loaded.x, loaded.y, loaded.z, loaded.w};
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = min(first_row + r, rows - 1);
    const float4* from = reinterpret_cast<const float4*>(x + row * k + at);
#pragma unroll
    for (int part = 0; part < kGroup / 4; ++part) {
      const float4 v = from[part];
      acc[r] = __fmaf_rn(WeightOf<kType>(words, 4 * part), v.x, acc[r]);
      acc[r] = __fmaf_rn(WeightOf<kType>(words, 4 * part + 1), v.y, acc[r]);
      acc[r] = __fmaf_rn(WeightOf<kType>(words, 4 * part + 2), v.z, acc[r]);
      acc[r] = __fmaf_rn(WeightOf<kType>(words, 4 * part + 3), v.w, acc[r]);
    }
  }
}

template <TensorType kType, int kRows>
__device__ void DotWhole(const Launch& launch, const uint8_t* w, int first_row,
                         float (&acc)[kRows]) {
  constexpr int kGroup = FloatGroup(kType);
  const int64_t groups = launch.k / kGroup;
  for (int64_t base = threadIdx.x % 32; base < groups; base += 32 * kInFlight) {
    uint4 loaded[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int64_t g = base + 32 * u;
      if (g < groups) loaded[u] = __ldg(reinterpret_cast<const uint4*>(w) + g);
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      const int64_t g = base + 32 * u;
      if (g < groups) {
        AddWholeGroup<kType, kRows>(loaded[u], launch.x, launch.k, first_row, launch.rows,
                                    g * kGroup, acc);
      }
    }
  }
}

template <TensorType kType, int kRows>
__device__ void DotByValues(const Launch& launch, const uint8_t* w, int first_row,
                            float (&acc)[kRows]) {
  constexpr int kGroup = FloatGroup(kType);
  const int64_t k = launch.k;
  for (int64_t first = threadIdx.x % 32 * kGroup; first < k; first += 32 * kGroup) {
    for (int64_t i = first; i < first + kGroup && i < k; ++i) {
      const float weight = WeightAt<kType>(w, i);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int64_t row = min(first_row + r, launch.rows - 1);
        acc[r] = __fmaf_rn(weight, launch.x[row * k + i], acc[r]);
      }
    }
  }
}

// The sums of one output in all lanes.
template <TensorType kType, int kRows, bool kWhole>
__device__ void Dot(const Launch& launch, const Weight& weight, int64_t out, int first_row,
                    float (&acc)[kRows]) {
  const uint8_t* w = weight.w + out * weight.row_bytes;
#pragma unroll
  for (int r = 0; r < kRows; ++r) acc[r] = 0;
  if constexpr (kWhole) {
    DotWhole<kType, kRows>(launch, w, first_row, acc);
  } else {
    DotByValues<kType, kRows>(launch, w, first_row, acc);
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) acc[r] = WarpSum(acc[r]);
}

template <int kRows>
__device__ float OfRow(const float (&acc)[kRows], int row) {
  float value = acc[0];
#pragma unroll
  for (int r = 1; r < kRows; ++r) value = row == r ? acc[r] : value;
  return value;
}

template <TensorType kType, int kRows, bool kWhole>
__global__ void __launch_bounds__(kThreads)
    FloatMatvecKernel(const __grid_constant__ Launch launch) {
  LetNextLaunchStart();
  WaitForLaunchBefore();
  const int block = blockIdx.x / launch.groups, first_row = blockIdx.x % launch.groups * kRows;
  int i = 0;
  while (i + 1 < launch.count && block >= launch.weight[i + 1].first_block) ++i;
  const Weight& weight = launch.weight[i];
  const int lane = threadIdx.x % 32, row = first_row + lane;
  for (int tile = 0; tile < launch.tiles; ++tile) {
    const int64_t out =
        (static_cast<int64_t>(block - weight.first_block) * launch.tiles + tile) * kWarps +
        threadIdx.x / 32;
    if (out >= weight.out) return;
    float acc[kRows];
    Dot<kType, kRows, kWhole>(launch, weight, out, first_row, acc);
    if (lane >= kRows || row >= launch.rows) continue;
    float value = OfRow(acc, lane);
    if (weight.bias != nullptr) value = __fadd_rn(value, weight.bias[out]);
    const int64_t at = row * weight.out + out;
    if (weight.residual != nullptr) value = __fadd_rn(value, weight.residual[at]);
    weight.y[at] = value;
  }
}

template <TensorType kType, int kRows, bool kWhole>
__global__ void __launch_bounds__(kThreads)
    FloatGateUpKernel(const __grid_constant__ Launch launch) {
  __shared__ float sums[2][kRows][kGateUpOutputs];
  LetNextLaunchStart();
  WaitForLaunchBefore();
  const int first_row = blockIdx.x % launch.groups * kRows;
  const int64_t first_out = static_cast<int64_t>(blockIdx.x / launch.groups) * kGateUpOutputs;
  const int64_t outs = launch.weight[0].out;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int tile = 0; tile < 2 * kGateUpOutputs / kWarps; ++tile) {
    const int column = tile / 2 * kWarps + warp;
    const int64_t out = first_out + column < outs ? first_out + column : outs - 1;
    float acc[kRows];
    Dot<kType, kRows, kWhole>(launch, launch.weight[tile % 2], out, first_row, acc);
    if (lane < kRows) sums[tile % 2][lane][column] = OfRow(acc, lane);
  }
  __syncthreads();
  if (warp >= kRows || first_row + warp >= launch.rows) return;
  const int64_t row = first_row + warp, out = first_out + lane;
  const float value = SwigluOf(sums[0][warp][lane], sums[1][warp][lane]);
  if (launch.y != nullptr && out < outs) launch.y[row * outs + out] = value;
  if (launch.chunks != nullptr) {
    QuantizeWarp(value, launch.chunks + (row * outs + first_out) / kBlock32);
  }
}

template <TensorType kType, int kRows, bool kWhole>
cudaError_t StartForm(Launch launch, bool gate_up, cudaStream_t stream) {
  launch.groups = (launch.rows + kRows - 1) / kRows;
  if (gate_up) {
    static const Prepared prepared = Prepare(FloatGateUpKernel<kType, kRows, kWhole>);
    const int64_t blocks = (launch.weight[0].out + kGateUpOutputs - 1) / kGateUpOutputs;
    return Start(FloatGateUpKernel<kType, kRows, kWhole>, prepared, blocks * launch.groups, 0,
                 launch, stream);
  }
  static const Prepared prepared = Prepare(FloatMatvecKernel<kType, kRows, kWhole>);
  const int64_t blocks = ShareOutBlocks(kWarps, kBlocksOnEach, &launch);
  return Start(FloatMatvecKernel<kType, kRows, kWhole>, prepared, blocks * launch.groups, 0, launch,
               stream);
}

bool IsWhole(const Launch& launch) {
  if (launch.k % FloatGroup(launch.weight[0].type) != 0) return false;
  uintptr_t bits = reinterpret_cast<uintptr_t>(launch.x);
  for (int i = 0; i < launch.count; ++i) bits |= reinterpret_cast<uintptr_t>(launch.weight[i].w);
  return bits % 16 == 0;
}

// Rows that are not aligned are rare: they have one form, of several rows.
template <TensorType kType>
cudaError_t StartType(const Launch& launch, bool gate_up, cudaStream_t stream) {
  if (!IsWhole(launch)) return StartForm<kType, kManyRows, false>(launch, gate_up, stream);
  if (launch.rows > 1) return StartForm<kType, kManyRows, true>(launch, gate_up, stream);
  return StartForm<kType, 1, true>(launch, gate_up, stream);
}

}  // namespace

cudaError_t StartFloat(Launch launch, bool gate_up, cudaStream_t stream) {
  switch (launch.weight[0].type) {
    case TensorType::kF32:
      return StartType<TensorType::kF32>(launch, gate_up, stream);
    case TensorType::kF16:
      return StartType<TensorType::kF16>(launch, gate_up, stream);
    case TensorType::kBF16:
      return StartType<TensorType::kBF16>(launch, gate_up, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace fg::cuda::matvec
