// How many tiles of outputs a block of a one-row kernel does, one after the other. It touches no
// bit of the result: an output is added up in the order of matvec_order.h wherever it is done.
#pragma once

#include <cstdint>

namespace fg::cuda {

constexpr int kMostTilesOfBlock = 4;

// For `tiles` in all and `at_once` blocks that the GPU holds at the same time. A round of blocks
// costs its tiles and about one tile more, for the activations are staged and the first weights are
// waited for; a round that is not full costs as much as a full one. The cheapest, of equals the
// fewest.
constexpr int TilesOfBlock(int64_t tiles, int64_t at_once) {
  int best = 1;
  int64_t best_cost = INT64_MAX;
  for (int each = 1; each <= kMostTilesOfBlock; ++each) {
    const int64_t blocks = (tiles + each - 1) / each;
    const int64_t cost = (blocks + at_once - 1) / at_once * (each + 1);
    if (cost >= best_cost) continue;
    best = each;
    best_cost = cost;
  }
  return best;
}

// --- One row through shared memory (matvec_bulk.cuh): pairs of neighbouring rows, a warp each ---

constexpr int kMostBulkWarps = 16;  // of a block

struct BulkGrid {
  int64_t blocks, tiles;  // tiles: pairs of the warp with most
  int warps;              // of a block
};

// A warp for each pair where a multiprocessor holds as many in one block, or in two small ones;
// else one full block each.
constexpr BulkGrid BulkGridOf(int64_t pairs, int multiprocessors) {
  const int64_t each = multiprocessors < 1 ? 1 : multiprocessors;
  const int64_t warps = (pairs + each - 1) / each;
  if (warps <= kMostBulkWarps) return {each < pairs ? each : pairs, 1, static_cast<int>(warps)};
  if (warps <= kMostBulkWarps + 8) return {2 * each, 1, static_cast<int>((warps + 1) / 2)};
  return {each, (warps + kMostBulkWarps - 1) / kMostBulkWarps, kMostBulkWarps};
}

}  // namespace fg::cuda
