// q8_0, rows gathered (RowQ8_0). A lane takes whole chunks: lane l of 16 chunks l, l + 16, ...
#include "kernels/cuda/matvec.cuh"

namespace fg::cuda::matvec {
namespace {

struct Q8_0 {
  static constexpr TensorType kType = TensorType::kQ8_0;
  static constexpr int kRing = 4, kManyRing = 2, kBlocks = 2;

  struct Piece {
    uint4 low, high;
    uint32_t d;
  };

  struct Source {
    const uint8_t *q, *d;

    __device__ Source(const uint8_t* row, int chunks, int lane)
        : q(row + lane * 32), d(row + RowQ8_0::D(chunks) + lane * 2) {}
    __device__ void Next() {
      q += kMatvecLanes * 32;
      d += kMatvecLanes * 2;
    }
    __device__ void Prefetch() const { PrefetchL2(q); }
    __device__ Piece Load() const {
      return {LoadWeight16(q), LoadWeight16(q + 16), LoadWeight2(d)};
    }
  };

  __device__ static uint2 Extra(const ActivationChunk* row, int slot) {
    return make_uint2(__float_as_uint(row[slot].d), 0);
  }

  __device__ static int DotSigned(uint4 a, uint4 b, int acc) {
    acc = __dp4a(static_cast<int>(a.x), static_cast<int>(b.x), acc);
    acc = __dp4a(static_cast<int>(a.y), static_cast<int>(b.y), acc);
    acc = __dp4a(static_cast<int>(a.z), static_cast<int>(b.z), acc);
    return __dp4a(static_cast<int>(a.w), static_cast<int>(b.w), acc);
  }

  template <int kRows>
  __device__ static void Use(const Piece& w, const StagedSlot& staged, bool valid,
                             float (&acc)[kRows]) {
    const float ws = HalfBits(w.d);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      int isum = DotSigned(w.low, staged.Low(r), 0);
      isum = DotSigned(w.high, staged.High(r), isum);
      const float scale = __fmul_rn(ws, __uint_as_float(staged.Extra(r).x));
      const float next = __fmaf_rn(__int2float_rn(isum), scale, acc[r]);
      acc[r] = valid ? next : acc[r];
    }
  }
};

}  // namespace

cudaError_t StartQ8_0(Launch launch, bool gate_up, cudaStream_t stream) {
  return StartQuantized<Q8_0>(launch, gate_up, stream);
}

}  // namespace fg::cuda::matvec
