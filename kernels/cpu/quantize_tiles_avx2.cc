#include <immintrin.h>

#include "kernels/cpu/quantize_rows_levels.h"
#include "kernels/cpu/quantize_tiles_levels.h"

namespace fg {
namespace {

constexpr int kGroup = 8;  // chunks quantized before they are laid: one line of a row's plane

// The chunk is row r of the tile.
inline void Lay(const ActivationChunk& chunk, int r, ActivationTile* tile) {
  for (int i = 0; i < 8; ++i) __builtin_memcpy(tile->q[i][r], chunk.q + 4 * i, 4);
  tile->d[r] = chunk.d;
  __builtin_memcpy(tile->sum[r], chunk.sum, sizeof(chunk.sum));
}

// Row r of `count` tiles of one row of tiles.
void OneRow(const float* x, int r, int count, ActivationTile* tiles, KernelFault fault) {
  ActivationChunk chunks[kGroup];
  QuantizeRowsAvx2(x, 0, 1, count * kBlock32, chunks, fault);
  for (int c = 0; c < count; ++c) Lay(chunks[c], r, tiles + c);
}

void ZeroRow(int r, int count, ActivationTile* tiles) {
  const ActivationChunk zero = {};
  for (int c = 0; c < count; ++c) Lay(zero, r, tiles + c);
}

}  // namespace

void QuantizeTilesAvx2(const float* x, int64_t ldx, int64_t rows, int64_t k, Range tiles,
                       ActivationTile* plane, KernelFault fault) {
  const int64_t chunks = k / kBlock32;
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    for (int64_t c = 0; c < chunks; c += kGroup) {
      const int count = chunks - c < kGroup ? static_cast<int>(chunks - c) : kGroup;
      ActivationTile* at = plane + t * chunks + c;
      for (int r = 0; r < kTileRows; ++r) {
        const int64_t row = t * kTileRows + r;
        if (row < rows) {
          OneRow(x + row * ldx + c * kBlock32, r, count, at, fault);
        } else if (fault != KernelFault::kDirtyTail) {
          ZeroRow(r, count, at);
        }
      }
    }
  }
}

}  // namespace fg
