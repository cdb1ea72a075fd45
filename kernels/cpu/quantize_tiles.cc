#include "kernels/cpu/quantize_tiles.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "kernels/cpu/quantize_rows.h"

namespace fg {
namespace {

constexpr int64_t kGroup = 8;  // chunks quantized before they are laid: one line of a row's plane

constexpr ActivationChunk kPadding[kGroup] = {};  // of rows past the last one

// The chunk is row r of the tile.
void Lay(const ActivationChunk& chunk, int r, ActivationTile* tile) {
  for (int i = 0; i < 8; ++i) std::memcpy(tile->q[i][r], chunk.q + 4 * i, 4);
  tile->d[r] = chunk.d;
  std::memcpy(tile->sum[r], chunk.sum, sizeof(chunk.sum));
}

}  // namespace

// The level is QuantizeRows' alone: laying a chunk moves words.
void QuantizeTiles(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                   Range tiles, ActivationTile* plane, KernelFault fault) {
  assert(k % kBlock32 == 0);
  assert(tiles.begin >= 0 && tiles.end <= TileCount(rows));
  const int64_t chunks = k / kBlock32;
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    for (int64_t c = 0; c < chunks; c += kGroup) {
      const int64_t count = std::min(chunks - c, kGroup);
      ActivationTile* at = plane + t * chunks + c;
      for (int r = 0; r < kTileRows; ++r) {
        const int64_t row = t * kTileRows + r;
        if (row >= rows && fault == KernelFault::kDirtyTail) continue;
        ActivationChunk quantized[kGroup];
        const ActivationChunk* row_chunks = kPadding;
        if (row < rows) {
          QuantizeRows(level, x + row * ldx + c * kBlock32, ldx, 1, count * kBlock32, quantized,
                       fault);
          row_chunks = quantized;
        }
        for (int64_t i = 0; i < count; ++i) Lay(row_chunks[i], r, at + i);
      }
    }
  }
}

}  // namespace fg
