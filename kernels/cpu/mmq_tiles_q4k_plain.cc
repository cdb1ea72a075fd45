#include <cmath>
#include <cstring>

#include "kernels/cpu/mmq_tiles_forms.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

// One tile's rows over one super-block, row by row, and what a chunk's min is multiplied with.
struct Rows {
  int8_t q[8][kTileRows][kBlock32];
  float d[8][kTileRows];
  float dsum[8][kTileRows];  // d * f32(msum); its rounding does not depend on the output
};

void Load(const ActivationTile* tiles, Rows* rows) {
  for (int j = 0; j < 8; ++j) {
    const ActivationTile& tile = tiles[j];
    for (int r = 0; r < kTileRows; ++r) {
      for (int i = 0; i < 8; ++i) std::memcpy(rows->q[j][r] + 4 * i, tile.q[i][r], 4);
      rows->d[j][r] = tile.d[r];
      rows->dsum[j][r] = tile.d[r] * static_cast<float>(tile.sum[r][0] + tile.sum[r][1]);
    }
  }
}

// The pairs of a super-block's eight sub-blocks.
void LoadScales(const MmqTilesArgs& args, int64_t o, int64_t s, const BlockQ4_K& block,
                ScalePair scales[8]) {
  const float d = F16ToF32(block.d);
  const float dmin = F16ToF32(block.dmin);
  for (int j = 0; j < 8; ++j) {
    if (args.scales != nullptr) {
      scales[j] = args.scales[ScalePairIndex(8 * s + j, o, args.out_total)];
    } else {
      const ScaleMin sm = UnpackScaleMin(block.s, j);
      scales[j] = {d * sm.scale, -dmin * sm.min};
    }
  }
}

// The nibbles go from the packed byte straight into the products.
template <KernelFault kFault>
void Multiply(const Rows& rows, const BlockQ4_K& block, const ScalePair scales[8], float* acc) {
  for (int j = 0; j < 8; ++j) {
    const uint8_t* q = block.q + 32 * (j / 2);
    const bool high = (j % 2 == 1) != (kFault == KernelFault::kSwapNibbles);
    for (int r = 0; r < kTileRows; ++r) {
      const int8_t* a = rows.q[j][r];
      int isum = 0;
      if (high) {
        for (int i = 0; i < kBlock32; ++i) isum += (q[i] >> 4) * a[i];
      } else {
        for (int i = 0; i < kBlock32; ++i) isum += (q[i] & 15) * a[i];
      }
      acc[r] = std::fma(static_cast<float>(isum), scales[j].ws * rows.d[j][r], acc[r]);
      if (kFault == KernelFault::kDropMin && j == 5) continue;
      acc[r] = std::fma(scales[j].wm, rows.dsum[j][r], acc[r]);
    }
  }
}

constexpr int64_t kOutBlock = 64;  // outputs that share a tile's rows; bounds memory alone

template <KernelFault kFault>
void OneTile(const MmqTilesArgs& args, int64_t t, Range outs) {
  const int64_t supers = args.k / kSuperBlock;
  const BlockQ4_K* w = static_cast<const BlockQ4_K*>(args.w);
  float acc[kOutBlock][kTileRows] = {};
  Rows rows;
  for (int64_t s = 0; s < supers; ++s) {
    Load(args.a + (t * supers + s) * 8, &rows);
    for (int64_t o = outs.begin; o < outs.end; ++o) {
      const BlockQ4_K& block = w[o * supers + s];
      ScalePair scales[8];
      LoadScales(args, o, s, block, scales);
      Multiply<kFault>(rows, block, scales, acc[o - outs.begin]);
    }
  }
  for (int r = 0; r < kTileRows && t * kTileRows + r < args.rows; ++r) {
    float* y = args.y + (t * kTileRows + r) * args.ldy;
    for (int64_t o = outs.begin; o < outs.end; ++o) {
      const float value = acc[o - outs.begin][r];
      y[o] = args.bias == nullptr ? value : value + args.bias[o];
    }
  }
}

template <KernelFault kFault>
void Run(const MmqTilesArgs& args, Range outs) {
  for (int64_t o = outs.begin; o < outs.end; o += kOutBlock) {
    const Range block = {o, o + kOutBlock < outs.end ? o + kOutBlock : outs.end};
    for (int64_t t = 0; t < TileCount(args.rows); ++t) OneTile<kFault>(args, t, block);
  }
}

}  // namespace

void MmqTilesQ4KPlain(const MmqTilesArgs& args, Range outs, KernelFault fault) {
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
