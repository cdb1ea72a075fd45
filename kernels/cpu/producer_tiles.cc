#include "kernels/cpu/producer_tiles.h"

#include <algorithm>
#include <cassert>

#include "kernels/cpu/quantize_tiles.h"
#include "kernels/cpu/rms_norm.h"
#include "kernels/cpu/swiglu.h"

namespace fg {
namespace {

// Values of each row of a tile that are made before they are quantized. What mode 2 makes lives in
// 8 KiB on the stack; a piece is wide enough for loads in sequence, and small beside L1.
constexpr int64_t kPiece = 128;

// Tile `t`: make(row, i, count, out) gives values i..i+count-1 of a row. They go to y, and are
// quantized from there, or to the stack where y is null.
template <typename Make>
void ProduceTile(CpuLevel level, int64_t t, int64_t rows, int64_t n, float* y,
                 ActivationTile* plane, KernelFault fault, const Make& make) {
  alignas(64) float local[kTileRows * kPiece];
  const int64_t first = t * kTileRows;
  const int64_t live = std::min<int64_t>(kTileRows, rows - first);
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    float* piece = y != nullptr ? y + first * n + i : local;
    const int64_t stride = y != nullptr ? n : kPiece;
    for (int64_t r = 0; r < live; ++r) make(first + r, i, count, piece + r * stride);
    // A plane of one tile row and count/32 chunks: these lie side by side in the large one too.
    QuantizeTiles(level, piece, stride, live, count, {0, 1},
                  plane + TileIndex(first, i / kBlock32, n / kBlock32), fault);
  }
}

}  // namespace

void RmsNormTiles(CpuLevel level, const float* x, const float* w, int64_t rows, int64_t n,
                  float eps, Range tiles, float* y, ActivationTile* plane, KernelFault fault) {
  assert(n % kBlock32 == 0);
  assert(tiles.begin >= 0 && tiles.end <= TileCount(rows));
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    const int64_t first = t * kTileRows;
    float scale[kTileRows] = {};
    const int64_t live = std::min<int64_t>(kTileRows, rows - first);
    RmsNormScales(level, x + first * n, n, live, n, eps, scale);
    ProduceTile(level, t, rows, n, y, plane, fault,
                [&](int64_t row, int64_t i, int64_t count, float* out) {
                  RmsNormApply(level, x + row * n + i, w + i, count, scale[row - first], out);
                });
  }
}

void SwigluTiles(CpuLevel level, const float* g, const float* u, int64_t rows, int64_t n,
                 Range tiles, float* y, ActivationTile* plane, KernelFault fault) {
  assert(n % kBlock32 == 0);
  assert(tiles.begin >= 0 && tiles.end <= TileCount(rows));
  for (int64_t t = tiles.begin; t < tiles.end; ++t) {
    ProduceTile(level, t, rows, n, y, plane, fault,
                [&](int64_t row, int64_t i, int64_t count, float* out) {
                  Swiglu(level, g + row * n + i, u + row * n + i, count, out);
                });
  }
}

}  // namespace fg
