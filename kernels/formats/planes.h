// Planes: activations and weights in the form that the prefill kernels of the nibble family read.
// Index functions are constexpr, for host and device alike. docs/arithmetic.md "Planes".
#pragma once

#include <cstdint>

#include "kernels/formats/blocks.h"

namespace fg {

// The tiled, transposed activation plane: tiles of 16 rows, [ceil(rows/16)][k/32] of them, one
// chunk of 32 values a tile. Rows past the last one are zeros in every field.
constexpr int kTileRows = 16;

struct ActivationTile {
  int8_t q[8][kTileRows][4];  // q[i][r][b] = value 4i + b of row r
  float d[kTileRows];         // as ActivationChunk::d
  int16_t sum[kTileRows][2];  // of row r's values 0..15 and 16..31
};
static_assert(sizeof(ActivationTile) == 640);  // 40 bytes a row and chunk, as row-major

constexpr int64_t TileCount(int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }
// Index of the tile that holds chunk `chunk` of row `row`, of `chunks` a row.
constexpr int64_t TileIndex(int64_t row, int64_t chunk, int64_t chunks) {
  return row / kTileRows * chunks + chunk;
}
// Offset of value 0..31 of row-in-tile 0..15 in ActivationTile::q, in bytes.
constexpr int TileValueOffset(int row_in_tile, int value) {
  return value / 4 * (kTileRows * 4) + row_in_tile * 4 + value % 4;
}
// k a multiple of 32.
constexpr uint64_t TilePlaneBytes(int64_t rows, int64_t k) {
  return static_cast<uint64_t>(TileCount(rows)) * static_cast<uint64_t>(k / 32) *
         sizeof(ActivationTile);
}

// The scale plane of a q4_K weight [out][k], chunk-major: [k/32][out] pairs.
struct ScalePair {
  float ws;  // d * sc
  float wm;  // -dmin * m
};
static_assert(sizeof(ScalePair) == 8);

constexpr int64_t ScalePairIndex(int64_t chunk, int64_t o, int64_t out) { return chunk * out + o; }
constexpr uint64_t ScalePlaneBytes(int64_t k, int64_t out) {
  return static_cast<uint64_t>(k / 32) * static_cast<uint64_t>(out) * sizeof(ScalePair);
}

// The expanded plane of a q6_K weight [out][k], row-major: [out][k/32] chunks. The scales stay
// integers: a pair (d*sc0, d*sc1) could not give the contract's bits.
struct ExpandedChunkQ6_K {
  int8_t q[32];  // n - 32, in -32..31
  float d;
  int8_t sc[2];  // of values 0..15 and 16..31
  int8_t zero[2];
};
static_assert(sizeof(ExpandedChunkQ6_K) == 40);

constexpr uint64_t ExpandedPlaneBytes(int64_t k, int64_t out) {
  return static_cast<uint64_t>(k / 32) * static_cast<uint64_t>(out) * sizeof(ExpandedChunkQ6_K);
}

}  // namespace fg
