#include "kernels/cpu/mmq_avx2.h"
#include "kernels/cpu/mmq_forms.h"

namespace fg {
namespace {

// One chunk of eight outputs, signed values in natural order. Output o's isum is
// scale0[o] * (sum over values 0-15) + scale1[o] * (sum over values 16-31); a type with one scale
// a chunk leaves both unused.
struct alignas(32) Tile {
  int8_t q[kLanes][32];
  int32_t scale0[kLanes];
  int32_t scale1[kLanes];
  float ws[kLanes];
  float wm[kLanes];
};

void StoreSigned(Tile* tile, int lane, __m256i n, int offset) {
  const __m256i q = _mm256_sub_epi8(n, _mm256_set1_epi8(static_cast<char>(offset)));
  _mm256_store_si256(reinterpret_cast<__m256i*>(tile->q[lane]), q);
}

float HalfAt(const void* p) {
  uint16_t half;
  __builtin_memcpy(&half, p, sizeof(half));
  return _cvtsh_ss(half);
}

struct Q4_0 {
  static constexpr bool kHasMin = false;
  static constexpr bool kTwoScales = false;
  static constexpr int kBlockBytes = sizeof(BlockQ4_0);
  static constexpr int kChunks = 1;

  static void Decode(const uint8_t* bytes, int, int lane, Tile* tile) {
    const BlockQ4_0* block = reinterpret_cast<const BlockQ4_0*>(bytes);
    StoreSigned(tile, lane, Nibbles(block->q), 8);
    tile->ws[lane] = HalfAt(&block->d);
  }
};

struct Q5_0 {
  static constexpr bool kHasMin = false;
  static constexpr bool kTwoScales = false;
  static constexpr int kBlockBytes = sizeof(BlockQ5_0);
  static constexpr int kChunks = 1;

  static void Decode(const uint8_t* bytes, int, int lane, Tile* tile) {
    StoreSigned(tile, lane, CodesQ5_0(bytes), 16);
    tile->ws[lane] = HalfAt(bytes);
  }
};

struct Q8_0 {
  static constexpr bool kHasMin = false;
  static constexpr bool kTwoScales = false;
  static constexpr int kBlockBytes = sizeof(BlockQ8_0);
  static constexpr int kChunks = 1;

  static void Decode(const uint8_t* bytes, int, int lane, Tile* tile) {
    StoreSigned(tile, lane, LoadBytes(bytes + 2), 0);
    tile->ws[lane] = HalfAt(bytes);
  }
};

struct Q4_K {
  static constexpr bool kHasMin = true;
  static constexpr bool kTwoScales = false;
  static constexpr int kBlockBytes = sizeof(BlockQ4_K);
  static constexpr int kChunks = 8;

  static void Decode(const uint8_t* bytes, int c, int lane, Tile* tile) {
    const BlockQ4_K* block = reinterpret_cast<const BlockQ4_K*>(bytes);
    const __m256i packed = LoadBytes(block->q + 32 * (c / 2));
    const __m128i shift = _mm_cvtsi32_si128(c % 2 == 0 ? 0 : 4);
    StoreSigned(tile, lane, _mm256_and_si256(_mm256_srl_epi16(packed, shift), _mm256_set1_epi8(15)),
                0);
    const uint8_t* s = block->s;
    const int scale = c < 4 ? s[c] & 63 : (s[c + 4] & 15) | ((s[c - 4] >> 6) << 4);
    const int min = c < 4 ? s[c + 4] & 63 : (s[c + 4] >> 4) | ((s[c] >> 6) << 4);
    tile->ws[lane] = HalfAt(&block->d) * static_cast<float>(scale);
    tile->wm[lane] = -HalfAt(&block->dmin) * static_cast<float>(min);
  }
};

struct Q6_K {
  static constexpr bool kHasMin = false;
  static constexpr bool kTwoScales = true;
  static constexpr int kBlockBytes = sizeof(BlockQ6_K);
  static constexpr int kChunks = 8;

  static void Decode(const uint8_t* bytes, int c, int lane, Tile* tile) {
    const BlockQ6_K* block = reinterpret_cast<const BlockQ6_K*>(bytes);
    const int half = c / 4, quarter = c % 4;
    const __m256i ql = LoadBytes(block->ql + 64 * half + 32 * (quarter % 2));
    const __m256i qh = LoadBytes(block->qh + 32 * half);
    const __m128i low_shift = _mm_cvtsi32_si128(quarter < 2 ? 0 : 4);
    const __m128i high_shift = _mm_cvtsi32_si128(2 * quarter);
    const __m256i low = _mm256_and_si256(_mm256_srl_epi16(ql, low_shift), _mm256_set1_epi8(15));
    const __m256i high = _mm256_and_si256(_mm256_srl_epi16(qh, high_shift), _mm256_set1_epi8(3));
    StoreSigned(tile, lane, _mm256_or_si256(low, _mm256_slli_epi16(high, 4)), 32);
    tile->scale0[lane] = block->scales[2 * c];
    tile->scale1[lane] = block->scales[2 * c + 1];
    tile->ws[lane] = HalfAt(&block->d);
  }
};

template <typename Type>
__m256 MultiplyRow(const Tile& tile, const ActivationChunk& a, __m256 acc) {
  const __m256i values = LoadBytes(a.q);
  __m256i parts[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const __m256i q = _mm256_load_si256(reinterpret_cast<const __m256i*>(tile.q[lane]));
    // |q| * (a with q's sign): maddubs wants one unsigned side. |q| <= 128 and |a| <= 127, so a
    // pair is at most 32512 and i16 holds it.
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(q), _mm256_sign_epi8(values, q));
    parts[lane] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
  }
  __m256i first, second;
  HalfSums(parts, &first, &second);
  if constexpr (Type::kTwoScales) {
    const __m256i* scale0 = reinterpret_cast<const __m256i*>(tile.scale0);
    const __m256i* scale1 = reinterpret_cast<const __m256i*>(tile.scale1);
    first = _mm256_mullo_epi32(first, _mm256_load_si256(scale0));
    second = _mm256_mullo_epi32(second, _mm256_load_si256(scale1));
  }
  const __m256 da = _mm256_broadcast_ss(&a.d);
  acc = AddScaled(acc, _mm256_add_epi32(first, second), _mm256_load_ps(tile.ws), da);
  if constexpr (Type::kHasMin) acc = AddMin(acc, _mm256_load_ps(tile.wm), da, BroadcastTotal(a));
  return acc;
}

template <typename Type>
void RunGroup(const MmqArgs& args, const OutGroup& group, int64_t first, int rows) {
  const int64_t chunks = args.k / kBlock32;
  __m256 acc[kMmqRowBlock];
  for (int r = 0; r < rows; ++r) acc[r] = _mm256_setzero_ps();
  Tile tile;
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t offset = c / Type::kChunks * Type::kBlockBytes;
    const int within = static_cast<int>(c % Type::kChunks);
    for (int lane = 0; lane < kLanes; ++lane) {
      Type::Decode(group.row[lane] + offset, within, lane, &tile);
    }
    for (int r = 0; r < rows; ++r) {
      acc[r] = MultiplyRow<Type>(tile, args.a[(first + r) * chunks + c], acc[r]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    StoreGroup(group, acc[r], args.bias, args.y + (first + r) * args.ldy + group.out);
  }
}

template <typename Type>
void Run(const MmqArgs& args, Range outs) {
  const int64_t row_bytes = args.k / (kBlock32 * Type::kChunks) * Type::kBlockBytes;
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int64_t left = args.rows - first;
    const int rows = left < kMmqRowBlock ? static_cast<int>(left) : kMmqRowBlock;
    for (int64_t o = outs.begin; o < outs.end; o += kLanes) {
      RunGroup<Type>(args, MakeOutGroup(args.w, row_bytes, o, outs.end), first, rows);
    }
  }
}

}  // namespace

void MmqGenericAvx2(const MmqArgs& args, Range outs) {
  switch (args.type) {
    case TensorType::kQ4_0:
      return Run<Q4_0>(args, outs);
    case TensorType::kQ5_0:
      return Run<Q5_0>(args, outs);
    case TensorType::kQ8_0:
      return Run<Q8_0>(args, outs);
    case TensorType::kQ4_K:
      return Run<Q4_K>(args, outs);
    case TensorType::kQ6_K:
      return Run<Q6_K>(args, outs);
    default:
      return;  // MmqSupports says no
  }
}

}  // namespace fg
