// q6_K, rows gathered (RowQ6_K). Slots 8b + 0..7 keep chunks 8b + 0, 2, 1, 3, 4, 6, 5, 7; lane l of
// 16 takes slots l, l + 16, ... Slot j of a super-block reads 16 bytes of ql at 16*j, of qh at
// 32*(j/4) + 16*(j%2), and the scales 8*(j/4) + j%4 (low) and four further on (high).
#pragma once

#include "kernels/cuda/matvec_bulk.cuh"

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

  struct Source {
    const uint8_t *ql, *qh, *scales, *d;

    __device__ Source(const uint8_t* row, int chunks, int lane)
        : ql(row + lane * 16),
          qh(row + RowQ6_K::QH(chunks / 8) + lane / 4 * 32 + lane % 2 * 16),
          scales(row + RowQ6_K::Scales(chunks / 8) + lane / 4 * 8),
          d(row + RowQ6_K::D(chunks / 8) + lane / 8 * 2) {}
    __device__ void Next() {
      constexpr int kBlocks = kMatvecLanes / 8;
      ql += kBlocks * 128;
      qh += kBlocks * 64;
      scales += kBlocks * 16;
      d += kBlocks * 2;
    }
    __device__ void Prefetch() const {
      PrefetchL2(ql);
      PrefetchL2(qh);
    }
    __device__ Piece Load() const {
      return {LoadWeight16(ql), LoadWeight16(qh), __ldg(reinterpret_cast<const uint2*>(scales)),
              LoadWeight2(d)};
    }
  };

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
  __device__ static void Use(const Piece& w, const StagedSlot& staged, bool valid,
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
      const uint2 extra = staged.Extra(r);
      const int low_offset = -32 * static_cast<int>(static_cast<int16_t>(extra.y));
      const int high_offset = -32 * (static_cast<int>(extra.y) >> 16);
      const int low_sum = low_scale * DotUnsigned(low, staged.Low(r), low_offset);
      const int high_sum = high_scale * DotUnsigned(high, staged.High(r), high_offset);
      const int isum = JoinHalves(low_sum, high_sum);
      const float scale = __fmul_rn(ws, __uint_as_float(extra.x));
      const float next = __fmaf_rn(__int2float_rn(isum), scale, acc[r]);
      acc[r] = valid ? next : acc[r];
    }
  }
};

// Of a stage: a lane reads the 32 bytes of ql and of qh that hold its chunk c of a half
// super-block.
template <int kSteps>
struct BulkQ6K {
  using Base = Q6K;
  static constexpr int kGroup = kSteps, kFields = 4;
  static constexpr int StepBytes(int field) {
    return field == 0 ? 256 : field == 1 ? 128 : field == 2 ? 32 : 4;
  }

  uint32_t ql, qh, scales, d, ql_shift, qh_turn;

  __device__ BulkQ6K(int lane, const StageShape<BulkQ6K>& shape) {
    const int c = ChunkOfSlot(TensorType::kQ6_K, lane % 4);
    ql = lane / 2 * 32;
    qh = shape.Field(1) + lane / 4 * 32;
    scales = shape.Field(2) + lane / 4 * 8 + 2 * c;
    d = shape.Field(3) + lane / 8 * 2;
    ql_shift = lane % 2 * 4;
    qh_turn = (4 - 2 * c) & 31;  // to the left: its bits come to bits 4 and 5
  }

  __device__ uint32_t Codes(uint32_t low, uint32_t high) const {
    return ((low >> ql_shift) & 0x0F0F0F0Fu) | (__funnelshift_l(high, high, qh_turn) & 0x30303030u);
  }
  __device__ uint4 Codes(uint4 low, uint4 high) const {
    return make_uint4(Codes(low.x, high.x), Codes(low.y, high.y), Codes(low.z, high.z),
                      Codes(low.w, high.w));
  }

  // d; the sums of both halves.
  __device__ static uint2 Extra(const ActivationChunk& chunk) {
    return *reinterpret_cast<const uint2*>(&chunk.d);
  }

  __device__ float Add(uint32_t row, int step, const StagedSlot& staged, float acc) const {
    const uint32_t at_ql = row + ql + step * 256, at_qh = row + qh + step * 128;
    const uint4 first = Codes(StagedSlot::Load16(at_ql), StagedSlot::Load16(at_qh));
    const uint4 second = Codes(StagedSlot::Load16(at_ql + 16), StagedSlot::Load16(at_qh + 16));
    const uint32_t two = LoadShared2(row + scales + step * 32);
    const float ws = HalfBits(LoadShared2(row + d + step * 4));
    const uint2 extra = staged.Extra(0);
    const int first_offset = -32 * static_cast<int>(static_cast<int16_t>(extra.y));
    const int second_offset = -32 * (static_cast<int>(extra.y) >> 16);
    const int isum = Q6K::SignedByte(two, 0) * DotUnsigned(first, staged.Low(0), first_offset) +
                     Q6K::SignedByte(two, 1) * DotUnsigned(second, staged.High(0), second_offset);
    return __fmaf_rn(__int2float_rn(isum), __fmul_rn(ws, __uint_as_float(extra.x)), acc);
  }
};

using BulkQ6KShort = BulkQ6K<7>;  // rows of no more steps
using BulkQ6KLong = BulkQ6K<8>;
constexpr bool IsShortQ6K(int64_t k) { return StepsOf(k) <= BulkQ6KShort::kGroup; }

}  // namespace fg::cuda::matvec
