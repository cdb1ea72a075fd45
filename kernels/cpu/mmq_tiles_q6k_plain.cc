#include <algorithm>
#include <cmath>

#include "kernels/cpu/mmq_q6k_nibble_chunk.h"
#include "kernels/cpu/mmq_tiles_forms.h"

namespace fg {
namespace {

constexpr int kTiles = 4;  // that share an output's unpacked weights: 64 rows

// Values 16*half..16*half+15 of every row of a tile with those of one output.
void DotHalf(const uint8_t* n, const ActivationTile& a, int half, int32_t dot[kTileRows]) {
  for (int r = 0; r < kTileRows; ++r) dot[r] = 0;
  for (int i = 4 * half; i < 4 * half + 4; ++i) {
    for (int r = 0; r < kTileRows; ++r) {
      for (int b = 0; b < 4; ++b) dot[r] += n[4 * i + b] * a.q[i][r][b];
    }
  }
}

void MultiplyChunk(const ChunkQ6_K& w, const ActivationTile& a, float acc[kTileRows]) {
  int32_t dot0[kTileRows], dot1[kTileRows];
  DotHalf(w.n, a, 0, dot0);
  DotHalf(w.n, a, 1, dot1);
  for (int r = 0; r < kTileRows; ++r) {
    const int32_t isum = FoldOffset(w, dot0[r], dot1[r], a.sum[r]);
    acc[r] = std::fma(static_cast<float>(isum), w.d * a.d[r], acc[r]);
  }
}

template <KernelFault kFault>
void OneOutput(const MmqTilesArgs& args, int64_t out, int64_t first, int rows) {
  const int64_t supers = args.k / kSuperBlock;
  const int tiles = static_cast<int>(TileCount(rows));
  float acc[kTiles][kTileRows] = {};
  ChunkQ6_K chunks[8];
  for (int64_t s = 0; s < supers; ++s) {
    DecodeSuper<kFault>(args.w, args.expanded, supers, out, s, chunks);
    for (int t = 0; t < tiles; ++t) {
      const int64_t row = first + t * kTileRows;
      const ActivationTile* a = args.a + TileIndex(row, 8 * s, 8 * supers);
      for (int c = 0; c < 8; ++c) MultiplyChunk(chunks[c], a[c], acc[t]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    const float sum = acc[r / kTileRows][r % kTileRows];
    args.y[(first + r) * args.ldy + out] = args.bias == nullptr ? sum : sum + args.bias[out];
  }
}

template <KernelFault kFault>
void Run(const MmqTilesArgs& args, Range outs) {
  for (int64_t first = 0; first < args.rows; first += kTiles * kTileRows) {
    const int rows = static_cast<int>(std::min<int64_t>(kTiles * kTileRows, args.rows - first));
    for (int64_t o = outs.begin; o < outs.end; ++o) OneOutput<kFault>(args, o, first, rows);
  }
}

}  // namespace

void MmqTilesQ6KPlain(const MmqTilesArgs& args, Range outs, KernelFault fault) {
  switch (fault) {
    case KernelFault::kSwapHalfScales:
      return Run<KernelFault::kSwapHalfScales>(args, outs);
    case KernelFault::kCoarseQ6K:
      return Run<KernelFault::kCoarseQ6K>(args, outs);
    default:
      return Run<KernelFault::kNone>(args, outs);
  }
}

}  // namespace fg
