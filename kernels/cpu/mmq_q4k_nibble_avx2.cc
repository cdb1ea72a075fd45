#include "kernels/cpu/mmq_avx2.h"
#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

// One super-block of eight outputs, still packed: q[8p + i] lane o holds bytes 4i..4i+3 of the
// nibbles that sub-blocks 2p (low) and 2p + 1 (high) of output o share.
struct alignas(32) Tile {
  uint8_t q[32][32];
  ScalesQ4_K scales;
};

void Stage(const OutGroup& group, int64_t offset, Tile* tile) {
  DecodeScalesQ4_K(group, offset, &tile->scales);
  for (int pair = 0; pair < 4; ++pair) {
    __m256i packed[8];
    for (int lane = 0; lane < kLanes; ++lane) {
      packed[lane] = LoadBytes(group.row[lane] + offset + 16 + 32 * pair);
    }
    Transpose8x8(packed);
    for (int i = 0; i < 8; ++i) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(tile->q[8 * pair + i]), packed[i]);
    }
  }
}

template <KernelFault kFault>
__m256 AddChunk(const Tile& tile, int j, __m256i dot, const ActivationChunk& a, __m256 acc) {
  const __m256 da = _mm256_broadcast_ss(&a.d);
  const __m256i isum = _mm256_madd_epi16(dot, _mm256_set1_epi16(1));
  acc = AddScaled(acc, isum, _mm256_load_ps(tile.scales.ws[j]), da);
  if (kFault == KernelFault::kDropMin && j == 5) return acc;
  return AddMin(acc, _mm256_load_ps(tile.scales.wm[j]), da, BroadcastTotal(a));
}

// kRows rows, `stride` chunks apart, go on over the tile's eight chunks.
template <int kRows, KernelFault kFault>
void MultiplyRows(const Tile& tile, const ActivationChunk* a, int64_t stride, __m256* acc) {
  constexpr bool kSwap = kFault == KernelFault::kSwapNibbles;
  const __m256i four = _mm256_set1_epi8(15);
  __m256 sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = acc[r];
  for (int pair = 0; pair < 4; ++pair) {
    __m256i dot0[kRows], dot1[kRows];  // i16 pairs: at most 8 * 2 * 15 * 127 = 30480
    for (int r = 0; r < kRows; ++r) dot0[r] = dot1[r] = _mm256_setzero_si256();
    const ActivationChunk* chunk = a + 2 * pair;
    for (int i = 0; i < 8; ++i) {
      const __m256i packed =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(tile.q[8 * pair + i]));
      const __m256i low = _mm256_and_si256(packed, four);
      const __m256i high = _mm256_and_si256(_mm256_srli_epi16(packed, 4), four);
      for (int r = 0; r < kRows; ++r) {
        const ActivationChunk* at = chunk + r * stride;
        const __m256i a0 = _mm256_set1_epi32(static_cast<int>(LoadU32(at[0].q + 4 * i)));
        const __m256i a1 = _mm256_set1_epi32(static_cast<int>(LoadU32(at[1].q + 4 * i)));
        dot0[r] = _mm256_add_epi16(dot0[r], _mm256_maddubs_epi16(kSwap ? high : low, a0));
        dot1[r] = _mm256_add_epi16(dot1[r], _mm256_maddubs_epi16(kSwap ? low : high, a1));
      }
    }
    for (int r = 0; r < kRows; ++r) {
      const ActivationChunk* at = chunk + r * stride;
      sum[r] = AddChunk<kFault>(tile, 2 * pair, dot0[r], at[0], sum[r]);
      sum[r] = AddChunk<kFault>(tile, 2 * pair + 1, dot1[r], at[1], sum[r]);
    }
  }
  for (int r = 0; r < kRows; ++r) acc[r] = sum[r];
}

template <KernelFault kFault>
void MultiplyBlock(const Tile& tile, const ActivationChunk* a, int64_t stride, int rows,
                   __m256* acc) {
  int r = 0;
  for (; r + 4 <= rows; r += 4) MultiplyRows<4, kFault>(tile, a + r * stride, stride, acc + r);
  for (; r < rows; ++r) MultiplyRows<1, kFault>(tile, a + r * stride, stride, acc + r);
}

template <KernelFault kFault>
void Run(const MmqArgs& args, Range outs) {
  const int64_t supers = args.k / kSuperBlock;
  const int64_t stride = supers * 8;
  const int64_t row_bytes = supers * static_cast<int64_t>(sizeof(BlockQ4_K));
  Tile tile;
  __m256 acc[kMmqRowBlock];
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int64_t left = args.rows - first;
    const int rows = left < kMmqRowBlock ? static_cast<int>(left) : kMmqRowBlock;
    for (int64_t o = outs.begin; o < outs.end; o += kLanes) {
      const OutGroup group = MakeOutGroup(args.w, row_bytes, o, outs.end);
      for (int r = 0; r < rows; ++r) acc[r] = _mm256_setzero_ps();
      for (int64_t s = 0; s < supers; ++s) {
        Stage(group, s * static_cast<int64_t>(sizeof(BlockQ4_K)), &tile);
        MultiplyBlock<kFault>(tile, args.a + first * stride + 8 * s, stride, rows, acc);
      }
      for (int r = 0; r < rows; ++r) {
        StoreGroup(group, acc[r], args.bias, args.y + (first + r) * args.ldy + o);
      }
    }
  }
}

}  // namespace

void MmqQ4KNibbleAvx2(const MmqArgs& args, Range outs, KernelFault fault) {
  switch (fault) {
    case KernelFault::kSwapNibbles:
      return Run<KernelFault::kSwapNibbles>(args, outs);
    case KernelFault::kDropMin:
      return Run<KernelFault::kDropMin>(args, outs);
    default:
      return Run<KernelFault::kNone>(args, outs);
  }
}

}  // namespace fg
