#include "kernels/cpu/mmq_avx2.h"
#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

// One super-block of eight outputs: q[8j + i] lane o holds values 4i..4i+3 of sub-block j of
// output o, a byte each.
struct alignas(32) Tile {
  uint8_t q[64][32];
  ScalesQ4_K scales;
};

void Expand(const OutGroup& group, int64_t offset, Tile* tile) {
  DecodeScalesQ4_K(group, offset, &tile->scales);
  const __m256i four = _mm256_set1_epi8(15);
  for (int pair = 0; pair < 4; ++pair) {
    __m256i packed[8];
    for (int lane = 0; lane < kLanes; ++lane) {
      packed[lane] = LoadBytes(group.row[lane] + offset + 16 + 32 * pair);
    }
    Transpose8x8(packed);
    for (int i = 0; i < 8; ++i) {
      const __m256i low = _mm256_and_si256(packed[i], four);
      const __m256i high = _mm256_and_si256(_mm256_srli_epi16(packed[i], 4), four);
      _mm256_store_si256(reinterpret_cast<__m256i*>(tile->q[16 * pair + i]), low);
      _mm256_store_si256(reinterpret_cast<__m256i*>(tile->q[16 * pair + 8 + i]), high);
    }
  }
}

// kRows rows, `stride` chunks apart, go on over the tile's eight chunks.
template <int kRows>
void MultiplyRows(const Tile& tile, const ActivationChunk* a, int64_t stride, __m256* acc) {
  __m256 sum[kRows];
  for (int r = 0; r < kRows; ++r) sum[r] = acc[r];
  for (int j = 0; j < 8; ++j) {
    __m256i dot[kRows];  // i16 pairs: at most 8 * 2 * 15 * 127 = 30480
    for (int r = 0; r < kRows; ++r) dot[r] = _mm256_setzero_si256();
    for (int i = 0; i < 8; ++i) {
      const __m256i q = _mm256_load_si256(reinterpret_cast<const __m256i*>(tile.q[8 * j + i]));
      for (int r = 0; r < kRows; ++r) {
        const int four_values = static_cast<int>(LoadU32(a[r * stride + j].q + 4 * i));
        const __m256i products = _mm256_maddubs_epi16(q, _mm256_set1_epi32(four_values));
        dot[r] = _mm256_add_epi16(dot[r], products);
      }
    }
    const __m256 ws = _mm256_load_ps(tile.scales.ws[j]);
    const __m256 wm = _mm256_load_ps(tile.scales.wm[j]);
    for (int r = 0; r < kRows; ++r) {
      const ActivationChunk& chunk = a[r * stride + j];
      const __m256 da = _mm256_broadcast_ss(&chunk.d);
      const __m256i isum = _mm256_madd_epi16(dot[r], _mm256_set1_epi16(1));
      sum[r] = AddMin(AddScaled(sum[r], isum, ws, da), wm, da, BroadcastTotal(chunk));
    }
  }
  for (int r = 0; r < kRows; ++r) acc[r] = sum[r];
}

void MultiplyBlock(const Tile& tile, const ActivationChunk* a, int64_t stride, int rows,
                   __m256* acc) {
  int r = 0;
  for (; r + 4 <= rows; r += 4) MultiplyRows<4>(tile, a + r * stride, stride, acc + r);
  for (; r < rows; ++r) MultiplyRows<1>(tile, a + r * stride, stride, acc + r);
}

template <KernelFault kFault>
void Run(const MmqArgs& args, Range outs) {
  const int64_t supers = args.k / kSuperBlock;
  const int64_t used = kFault == KernelFault::kWrongTail ? supers - 1 : supers;
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
      for (int64_t s = 0; s < used; ++s) {
        Expand(group, s * static_cast<int64_t>(sizeof(BlockQ4_K)), &tile);
        MultiplyBlock(tile, args.a + first * stride + 8 * s, stride, rows, acc);
      }
      for (int r = 0; r < rows; ++r) {
        StoreGroup(group, acc[r], args.bias, args.y + (first + r) * args.ldy + o);
      }
    }
  }
}

}  // namespace

void MmqQ4KRawAvx2(const MmqArgs& args, Range outs, KernelFault fault) {
  if (fault == KernelFault::kWrongTail) return Run<KernelFault::kWrongTail>(args, outs);
  Run<KernelFault::kNone>(args, outs);
}

}  // namespace fg
