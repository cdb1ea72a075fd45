#include "kernels/cpu/quantize_tiles.h"

#include <cassert>

#include "kernels/cpu/quantize_tiles_levels.h"

namespace fg {

void QuantizeTiles(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                   Range tiles, ActivationTile* plane, KernelFault fault) {
  assert(k % kBlock32 == 0);
  assert(tiles.begin >= 0 && tiles.end <= TileCount(rows));
  if (level >= CpuLevel::kAvx512) {
    return QuantizeTilesAvx512(x, ldx, rows, k, tiles, plane, fault);
  }
  if (level >= CpuLevel::kAvx2) return QuantizeTilesAvx2(x, ldx, rows, k, tiles, plane, fault);
  QuantizeTilesPlain(x, ldx, rows, k, tiles, plane, fault);
}

}  // namespace fg
