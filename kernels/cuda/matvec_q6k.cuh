// q6_K, rows gathered (RowQ6_K). Slots 8b + 0..7 keep chunks 8b + 0, 2, 1, 3, 4, 6, 5, 7; lane l of
// 16 takes slots l, l + 16, ... Slot j of a super-block reads 16 bytes of ql at 16*j, of qh at
// 32*(j/4) + 16*(j%2), and the scales 8*(j/4) + j%4 (low) and four further on (high).
#pragma once

#include "kernels/cuda/matvec.cuh"

namespace fg::cuda::matvec {

struct Q6K {
  static constexpr TensorType kType = TensorType::kQ6_K;
  // 26 bytes a lane and piece: 52 KB in flight on a multiprocessor.
  static constexpr int kRing = 4, kManyRing = 2, kBlocks = 2;

  struct Piece {
    uint4 ql, qh;
    uint2 scales;  // of the half super-block
    uint32_t d;
  };

  __device__ static const uint8_t* Low(const uint8_t* row, int slot) { return row + slot * 16; }
  __device__ static const uint8_t* High(const uint8_t* row, int blocks, int slot) {
    return row + RowQ6_K::QH(blocks) + slot / 4 * 32 + slot % 2 * 16;
  }
  __device__ static void Prefetch(const uint8_t* row, int chunks, int slot) {
    PrefetchL2(Low(row, slot));
    PrefetchL2(High(row, chunks / 8, slot));
  }
  __device__ static Piece Load(const uint8_t* row, int chunks, int slot) {
    const int blocks = chunks / 8;
    const uint8_t* scales = row + RowQ6_K::Scales(blocks) + slot / 4 * 8;
    return {LoadWeight16(Low(row, slot)), LoadWeight16(High(row, blocks, slot)),
            __ldg(reinterpret_cast<const uint2*>(scales)),
            LoadWeight2(row + RowQ6_K::D(blocks) + slot / 8 * 2)};
  }

  // d of the kept chunk; the sums of the low half (bits 0-15) and of the high half.
  __device__ static uint2 Extra(const ActivationChunk* row, int slot) {
    const HalfChunk low = LowHalf(kType, slot), high = HighHalf(kType, slot);
    const uint32_t low_sum = static_cast<uint16_t>(row[low.chunk].sum[low.half]);
    const uint32_t high_sum = static_cast<uint16_t>(row[high.chunk].sum[high.half]);
    return make_uint2(__float_as_uint(row[ChunkOfSlot(kType, slot)].d), low_sum | high_sum << 16);
  }

  __device__ static uint4 LowCodes(uint4 ql, uint4 bits) {
    const auto one = [](uint32_t q, uint32_t b) {
      return (q & 0x0F0F0F0Fu) | ((b << 4) & 0x30303030u);
    };
    return make_uint4(one(ql.x, bits.x), one(ql.y, bits.y), one(ql.z, bits.z), one(ql.w, bits.w));
  }
  __device__ static uint4 HighCodes(uint4 ql, uint4 bits) {
    const auto one = [](uint32_t q, uint32_t b) {
      return ((q >> 4) & 0x0F0F0F0Fu) | (b & 0x30303030u);
    };
    return make_uint4(one(ql.x, bits.x), one(ql.y, bits.y), one(ql.z, bits.z), one(ql.w, bits.w));
  }
  __device__ static int SignedByte(uint32_t word, int at) {
    return static_cast<int>(static_cast<int8_t>(word >> (8 * at)));
  }

  template <int kRows>
  __device__ static void Use(const Piece& w, const Staged& staged, int slot, bool valid,
                             float (&acc)[kRows]) {
    const int j = threadIdx.x % 4;
    const int shift = j / 2 * 2;
    const uint4 bits =
        make_uint4(w.qh.x >> shift, w.qh.y >> shift, w.qh.z >> shift, w.qh.w >> shift);
    const uint4 low = LowCodes(w.ql, bits), high = HighCodes(w.ql, bits);
    const int low_scale = SignedByte(w.scales.x, j), high_scale = SignedByte(w.scales.y, j);
    const float ws = HalfBits(w.d);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const uint2 extra = staged.Extra(r, slot);
      const int low_offset = -32 * static_cast<int>(static_cast<int16_t>(extra.y));
      const int high_offset = -32 * (static_cast<int>(extra.y) >> 16);
      const int low_sum = low_scale * DotUnsigned(low, staged.Low(r, slot), low_offset);
      const int high_sum = high_scale * DotUnsigned(high, staged.High(r, slot), high_offset);
      const int isum = JoinHalves(low_sum, high_sum);
      const float scale = __fmul_rn(ws, __uint_as_float(extra.x));
      const float next = __fmaf_rn(__int2float_rn(isum), scale, acc[r]);
      acc[r] = valid ? next : acc[r];
    }
  }
};

}  // namespace fg::cuda::matvec
