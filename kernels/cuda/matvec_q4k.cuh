// q4_K, rows as in the file. Slot s keeps chunk s; lane l of 16 takes chunks l, l + 16, ... A
// super-block is a header of 16 bytes and 8 pieces; the lanes of a super-block share its header.
#pragma once

#include "kernels/cuda/matvec_bulk.cuh"

namespace fg::cuda::matvec {

struct Q4K {
  static constexpr TensorType kType = TensorType::kQ4_K;
  // All of a row of 3584 values: 18 bytes a lane and piece, 64 KB on a multiprocessor.
  static constexpr int kRing = 7, kManyRing = 3, kBlocks = 2;

  struct Piece {
    uint4 q;
    uint4 head;  // d and dmin, and s[12]
  };

  struct Source {
    const uint8_t *head, *q;

    __device__ Source(const uint8_t* row, int, int lane)
        : head(row + lane / 8 * sizeof(BlockQ4_K)), q(head + 16 + lane % 8 * 16) {}
    __device__ void Next() {
      head += kStep;
      q += kStep;
    }
    __device__ void Prefetch() const { PrefetchL2(q); }
    __device__ Piece Load() const { return {LoadWeight16(q), LoadWeight16(head)}; }
    static constexpr int kStep = kMatvecLanes / 8 * sizeof(BlockQ4_K);
  };

  // d of the kept chunk, and d times the sum of its values.
  __device__ static uint2 Extra(const ActivationChunk* row, int slot) {
    const ActivationChunk& chunk = row[slot];
    const float min_factor = __fmul_rn(chunk.d, __int2float_rn(SumOfChunk(chunk)));
    return make_uint2(__float_as_uint(chunk.d), __float_as_uint(min_factor));
  }

  // Scale and min of sub-block j of s, as UnpackScaleMin has them: the scale in bits 0-5, the min
  // in bits 8-13. The masks and the shift are of the lane, so that no lane branches.
  __device__ static uint32_t ScaleMinOf(uint4 head, uint32_t j) {
    const uint32_t b = j & 3;
    const uint32_t four_bits = j < 4 ? 0 : 0x0F0Fu;  // of s[b + 8]
    const uint32_t other_bits = j < 4 ? 0x3F3Fu : 0x3030u;
    const uint32_t first = __byte_perm(head.y, head.z, b | (b + 4) << 4);  // s[b], s[b + 4]
    const uint32_t third = __byte_perm(head.w, 0, b | 0x4440u);            // s[b + 8]
    return ((third | third << 4) & four_bits) | ((first >> (j < 4 ? 0 : 2)) & other_bits);
  }

  template <int kRows>
  __device__ static void Use(const Piece& w, const StagedSlot& staged, bool valid,
                             float (&acc)[kRows]) {
    const uint4 low = And(w.q, 0x0F0F0F0Fu), high = And(w.q, 0xF0F0F0F0u);  // 16 times the value
    const uint32_t scale_min = ScaleMinOf(w.head, threadIdx.x % 8);
    const float scale = __uint2float_rn(scale_min & 0xFFu);
    const float min = __uint2float_rn(scale_min >> 8);
    const float ws = __fmul_rn(HalfBits(w.head.x & 0xFFFFu), scale);
    const float wm = -__fmul_rn(HalfBits(w.head.x >> 16), min);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int low_sum = DotUnsigned(low, staged.Low(r), 0);
      const int high_sum = DotUnsigned(high, staged.High(r), 0) >> 4;
      const int isum = JoinHalves(low_sum, high_sum);
      const uint2 extra = staged.Extra(r);
      const float da = __uint_as_float(extra.x);
      float next = __fmaf_rn(__int2float_rn(isum), __fmul_rn(ws, da), acc[r]);
      next = __fmaf_rn(wm, __uint_as_float(extra.y), next);
      acc[r] = valid ? next : acc[r];
    }
  }
};

// Of a stage: a lane reads the 32 bytes that hold its chunk, of which it takes one nibble each.
struct BulkQ4K {
  using Base = Q4K;
  static constexpr int kGroup = 7, kFields = 1;
  static constexpr int StepBytes(int) { return 2 * sizeof(BlockQ4_K); }

  uint32_t q, head, j, mask, shift;

  __device__ BulkQ4K(int lane, const StageShape<BulkQ4K>&)
      : q(lane / 8 * sizeof(BlockQ4_K) + 16 + lane % 8 / 2 * 32),
        head(lane / 8 * sizeof(BlockQ4_K)),
        j(lane % 8),
        mask(lane % 2 == 0 ? 0x0F0F0F0Fu : 0xF0F0F0F0u),
        shift(lane % 2 == 0 ? 0 : 4) {}

  // d, and d times the sum of the values.
  __device__ static uint2 Extra(const ActivationChunk& chunk) { return Q4K::Extra(&chunk, 0); }

  __device__ float Add(uint32_t row, int step, const StagedSlot& staged, float acc) const {
    const uint4 first = StagedSlot::Load16(row + q + step * StepBytes(0));
    const uint4 second = StagedSlot::Load16(row + q + step * StepBytes(0) + 16);
    const uint4 top = StagedSlot::Load16(row + head + step * StepBytes(0));
    const uint2 extra = staged.Extra(0);
    const int sum = DotUnsigned(And(first, mask), staged.Low(0), 0);
    const int isum = DotUnsigned(And(second, mask), staged.High(0), sum) >> shift;
    const uint32_t scale_min = Q4K::ScaleMinOf(top, j);
    const float ws = __fmul_rn(HalfBits(top.x & 0xFFFFu), __uint2float_rn(scale_min & 0xFFu));
    const float wm = -__fmul_rn(HalfBits(top.x >> 16), __uint2float_rn(scale_min >> 8));
    const float scale = __fmul_rn(ws, __uint_as_float(extra.x));
    return __fmaf_rn(wm, __uint_as_float(extra.y), __fmaf_rn(__int2float_rn(isum), scale, acc));
  }
};

}  // namespace fg::cuda::matvec
