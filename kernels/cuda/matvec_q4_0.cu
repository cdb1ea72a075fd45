// q4_0, rows gathered (RowQ4_0). A lane takes whole chunks: lane l of 16 chunks l, l + 16, ...
#include "kernels/cuda/matvec.cuh"

namespace fg::cuda::matvec {
namespace {

struct Q4_0 {
  static constexpr TensorType kType = TensorType::kQ4_0;
  static constexpr int kRing = 6, kManyRing = 4, kBlocks = 3;

  struct Piece {
    uint4 q;
    uint32_t d;
  };

  struct Source {
    const uint8_t *q, *d;

    __device__ Source(const uint8_t* row, int chunks, int lane)
        : q(row + lane * 16), d(row + RowQ4_0::D(chunks) + lane * 2) {}
    __device__ void Next() {
      q += kMatvecLanes * 16;
      d += kMatvecLanes * 2;
    }
    __device__ void Prefetch() const { PrefetchL2(q); }
    __device__ Piece Load() const { return {LoadWeight16(q), LoadWeight2(d)}; }
  };

  // d; what the offset of the codes takes off the sum.
  __device__ static uint2 Extra(const ActivationChunk* row, int slot) {
    const int offset = -8 * SumOfChunk(row[slot]);
    return make_uint2(__float_as_uint(row[slot].d), static_cast<uint32_t>(offset));
  }

  template <int kRows>
  __device__ static void Use(const Piece& w, const StagedSlot& staged, bool valid,
                             float (&acc)[kRows]) {
    const uint4 low = And(w.q, 0x0F0F0F0Fu), high = And(w.q, 0xF0F0F0F0u);  // 16 times the value
    const float ws = HalfBits(w.d);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const uint2 extra = staged.Extra(r);
      const int high_sum = DotUnsigned(high, staged.High(r), 0) >> 4;
      const int isum = DotUnsigned(low, staged.Low(r), static_cast<int>(extra.y)) + high_sum;
      const float scale = __fmul_rn(ws, __uint_as_float(extra.x));
      const float next = __fmaf_rn(__int2float_rn(isum), scale, acc[r]);
      acc[r] = valid ? next : acc[r];
    }
  }
};

}  // namespace

cudaError_t StartQ4_0(Launch launch, bool gate_up, cudaStream_t stream) {
  return StartQuantized<Q4_0>(launch, gate_up, stream);
}

}  // namespace fg::cuda::matvec
