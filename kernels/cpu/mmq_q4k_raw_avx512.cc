#include "kernels/cpu/mmq_q4k_rows_avx512.h"

namespace fg {
namespace {

// One super-block of sixteen outputs: q[8j + i] lane o holds values 4i..4i+3 of sub-block j of
// output o, a byte each.
struct alignas(64) RawTile {
  uint8_t q[64][64];
  WideScales scales;

  void Stage(const WideGroup& group, int64_t offset) {
    scales.Stage(group, offset);
    const __m512i four = _mm512_set1_epi8(15);
    for (int pair = 0; pair < 4; ++pair) {
      __m512i packed[8];
      LoadTransposed(group, offset + 16 + 32 * pair, packed);
      for (int i = 0; i < 8; ++i) {
        const __m512i high = _mm512_srli_epi16(packed[i], 4);
        _mm512_store_si512(q[16 * pair + i], _mm512_and_si512(packed[i], four));
        _mm512_store_si512(q[16 * pair + 8 + i], _mm512_and_si512(high, four));
      }
    }
  }

  __m512i Values(int c, int i) const { return _mm512_load_si512(q[8 * c + i]); }
};

}  // namespace

void MmqQ4KRawAvx512(const MmqArgs& args, Range outs, KernelFault fault) {
  const int64_t supers = args.k / kSuperBlock;
  const bool lost = fault == KernelFault::kWrongTail;
  RunRows<KernelFault::kNone, RawTile>(args, outs, lost ? supers - 1 : supers);
}

}  // namespace fg
