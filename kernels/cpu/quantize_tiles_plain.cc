#include <cstring>

#include "kernels/cpu/quantize_rows_levels.h"
#include "kernels/cpu/quantize_tiles_levels.h"

namespace fg {
namespace {

// The chunk is row r of the tile.
void Lay(const ActivationChunk& chunk, int r, ActivationTile* tile) {
  for (int i = 0; i < 8; ++i) std::memcpy(tile->q[i][r], chunk.q + 4 * i, 4);
  tile->d[r] = chunk.d;
  std::memcpy(tile->sum[r], chunk.sum, sizeof(chunk.sum));
}

}  // namespace

void QuantizeTilesPlain(const float* x, int64_t ldx, int64_t rows, int64_t k, Range tiles,
                        ActivationTile* plane, KernelFault fault) {
  const int64_t chunks = k / kBlock32;
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    for (int64_t c = 0; c < chunks; ++c) {
      ActivationTile* tile = plane + t * chunks + c;
      for (int r = 0; r < kTileRows; ++r) {
        const int64_t row = t * kTileRows + r;
        ActivationChunk chunk = {};
        if (row < rows) {
          QuantizeRowsPlain(x + row * ldx + c * kBlock32, ldx, 1, kBlock32, &chunk, fault);
        } else if (fault == KernelFault::kDirtyTail) {
          continue;
        }
        Lay(chunk, r, tile);
      }
    }
  }
}

}  // namespace fg
