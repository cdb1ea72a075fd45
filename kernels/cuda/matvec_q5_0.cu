// q5_0, rows gathered (RowQ5_0). A lane takes whole chunks: lane l of 16 chunks l, l + 16, ...
#include "kernels/cuda/matvec.cuh"

namespace fg::cuda::matvec {
namespace {

struct Q5_0 {
  static constexpr TensorType kType = TensorType::kQ5_0;
  static constexpr int kRing = 4, kManyRing = 3, kBlocks = 3;

  struct Piece {
    uint4 q;
    uint32_t h;
    uint32_t d;
  };

  struct Source {
    const uint8_t *q, *h, *d;

    __device__ Source(const uint8_t* row, int chunks, int lane)
        : q(row + lane * 16),
          h(row + RowQ5_0::H(chunks) + lane * 4),
          d(row + RowQ5_0::D(chunks) + lane * 2) {}
    __device__ void Next() {
      q += kMatvecLanes * 16;
      h += kMatvecLanes * 4;
      d += kMatvecLanes * 2;
    }
    __device__ void Prefetch() const { PrefetchL2(q); }
    __device__ Piece Load() const {
      return {LoadWeight16(q), __ldg(reinterpret_cast<const uint32_t*>(h)), LoadWeight2(d)};
    }
  };

  // d; what the offset of the codes takes off the sum.
  __device__ static uint2 Extra(const ActivationChunk* row, int slot) {
    const int offset = -16 * SumOfChunk(row[slot]);
    return make_uint2(__float_as_uint(row[slot].d), static_cast<uint32_t>(offset));
  }

  // Bits 0-3 to bit 4 of bytes 0-3. The four shifted copies do not touch.
  __device__ static uint32_t FifthBits(uint32_t h) { return (h & 15u) * 0x02040810u & 0x10101010u; }
  __device__ static uint4 Codes(uint4 nibbles, uint32_t h) {
    return make_uint4(nibbles.x | FifthBits(h), nibbles.y | FifthBits(h >> 4),
                      nibbles.z | FifthBits(h >> 8), nibbles.w | FifthBits(h >> 12));
  }

  template <int kRows>
  __device__ static void Use(const Piece& w, const StagedSlot& staged, bool valid,
                             float (&acc)[kRows]) {
    const uint4 upper = make_uint4(w.q.x >> 4, w.q.y >> 4, w.q.z >> 4, w.q.w >> 4);
    const uint4 low = Codes(And(w.q, 0x0F0F0F0Fu), w.h);
    const uint4 high = Codes(And(upper, 0x0F0F0F0Fu), w.h >> 16);
    const float ws = HalfBits(w.d);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const uint2 extra = staged.Extra(r);
      int isum = DotUnsigned(low, staged.Low(r), static_cast<int>(extra.y));
      isum = DotUnsigned(high, staged.High(r), isum);
      const float scale = __fmul_rn(ws, __uint_as_float(extra.x));
      const float next = __fmaf_rn(__int2float_rn(isum), scale, acc[r]);
      acc[r] = valid ? next : acc[r];
    }
  }
};

}  // namespace

cudaError_t StartQ5_0(Launch launch, bool gate_up, cudaStream_t stream) {
  return StartQuantized<Q5_0>(launch, gate_up, stream);
}

}  // namespace fg::cuda::matvec
