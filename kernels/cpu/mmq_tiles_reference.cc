#include "kernels/cpu/mmq_tiles_reference.h"

#include <cstring>
#include <vector>

#include "kernels/cpu/mmq_reference.h"

namespace fg {

void TilesFromRows(const ActivationChunk* a, int64_t rows, int64_t k, ActivationTile* plane) {
  const int64_t chunks = k / 32;
  std::memset(plane, 0, static_cast<size_t>((rows + 15) / 16 * chunks) * sizeof(ActivationTile));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < chunks; ++c) {
      const ActivationChunk& chunk = a[row * chunks + c];
      ActivationTile& tile = plane[row / 16 * chunks + c];
      for (int v = 0; v < 32; ++v) tile.q[v / 4][row % 16][v % 4] = chunk.q[v];
      tile.d[row % 16] = chunk.d;
      tile.sum[row % 16][0] = chunk.sum[0];
      tile.sum[row % 16][1] = chunk.sum[1];
    }
  }
}

void MmqTilesContract(const MmqTilesArgs& args, Range outs) {
  const int64_t chunks = args.k / 32;
  std::vector<ActivationChunk> a(static_cast<size_t>(args.rows * chunks));
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t c = 0; c < chunks; ++c) {
      const ActivationTile& tile = args.a[row / 16 * chunks + c];
      ActivationChunk& chunk = a[static_cast<size_t>(row * chunks + c)];
      for (int v = 0; v < 32; ++v) chunk.q[v] = tile.q[v / 4][row % 16][v % 4];
      chunk.d = tile.d[row % 16];
      chunk.sum[0] = tile.sum[row % 16][0];
      chunk.sum[1] = tile.sum[row % 16][1];
    }
  }
  MmqContract({args.type, args.w, a.data(), args.rows, args.k, args.bias, args.y, args.ldy}, outs);
}

}  // namespace fg
