#include "kernels/cpu/mmq_q4k_rows_avx512.h"

namespace fg {
namespace {

// One super-block of sixteen outputs, still packed: q[8p + i] lane o holds bytes 4i..4i+3 of the
// nibbles that sub-blocks 2p (low) and 2p + 1 (high) of output o share.
template <KernelFault kFault>
struct alignas(64) NibbleTile {
  uint8_t q[32][64];
  WideScales scales;

  void Stage(const WideGroup& group, int64_t offset) {
    scales.Stage(group, offset);
    for (int pair = 0; pair < 4; ++pair) {
      __m512i packed[8];
      LoadTransposed(group, offset + 16 + 32 * pair, packed);
      for (int i = 0; i < 8; ++i) _mm512_store_si512(q[8 * pair + i], packed[i]);
    }
  }

  // Values 4i..4i+3 of sub-block c, a byte each.
  __m512i Values(int c, int i) const {
    const bool high = (c % 2 == 1) != (kFault == KernelFault::kSwapNibbles);
    const __m512i packed = _mm512_load_si512(q[8 * (c / 2) + i]);
    const __m512i placed = _mm512_srl_epi16(packed, _mm_cvtsi32_si128(high ? 4 : 0));
    return _mm512_and_si512(placed, _mm512_set1_epi8(15));
  }
};

template <KernelFault kFault>
void Run(const MmqArgs& args, Range outs) {
  RunRows<kFault, NibbleTile<kFault>>(args, outs, args.k / kSuperBlock);
}

}  // namespace

void MmqQ4KNibbleAvx512(const MmqArgs& args, Range outs, KernelFault fault) {
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
