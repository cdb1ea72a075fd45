// References of the tiled plane and its matrix product, for tests. docs/arithmetic.md "Planes".
#pragma once

#include <cstdint>

#include "kernels/cpu/mmq_tiles.h"
#include "kernels/cpu/range.h"
#include "kernels/formats/planes.h"

namespace fg {

// plane[TileCount(rows)][k/32] of the row-major chunks a[rows][k/32]; rows past the last one zeros.
void TilesFromRows(const ActivationChunk* a, int64_t rows, int64_t k, ActivationTile* plane);

// MmqTiles' result by the contract's scalar arithmetic (MmqContract). `scales` and `expanded` are
// not read: the weights' own bytes say what they must hold.
void MmqTilesContract(const MmqTilesArgs& args, Range outs);

}  // namespace fg
