// How attention cuts its work and lays its tiles: index functions for host and device alike, tested
// without a GPU.
#pragma once

#include <cstdint>

namespace fg::cuda {

// --- Few rows: keys cut by length -----------------------------------------------------------

constexpr int kAttentionFewestKeys = 32;   // of a part
constexpr int kAttentionMostParts = 32;    // a lane each in the joining warp
constexpr int kAttentionSliceRows = 64;    // rows of one launch
constexpr int kAttentionCounters = 16384;  // of scratch, in front, whatever a call's shape
constexpr int kAttentionBlockHeads = 7;    // query heads that one block serves at most

// 256, then four steps an octave: 320, 384, 448, 512, 640, ...
constexpr int64_t AttentionBucketOf(int64_t length) {
  if (length <= 256) return 256;
  int64_t octave = 256;
  while (octave * 2 < length) octave *= 2;
  const int64_t step = octave / 4;
  return (length + step - 1) / step * step;
}

// Keys of a part; parts begin at its multiples. A function of the bucket alone.
constexpr int64_t AttentionPartLength(int64_t bucket) {
  const int64_t even = (bucket + kAttentionMostParts - 1) / kAttentionMostParts;
  const int64_t rounded = (even + 7) / 8 * 8;
  return rounded < kAttentionFewestKeys ? kAttentionFewestKeys : rounded;
}

// Parts that `length` positions reach into; of a bucket, all of them.
constexpr int64_t AttentionParts(int64_t bucket, int64_t length) {
  const int64_t part = AttentionPartLength(bucket);
  return (length + part - 1) / part;
}

// The most parts of any bucket up to this one.
constexpr int64_t AttentionMostParts(int64_t bucket) {
  const int64_t parts = (bucket + kAttentionFewestKeys - 1) / kAttentionFewestKeys;
  return parts < kAttentionMostParts ? parts : kAttentionMostParts;
}

// The query heads of one kv head are shared out to so many blocks, each with so many heads.
constexpr int64_t AttentionHeadBlocks(int64_t group) {
  return (group + kAttentionBlockHeads - 1) / kAttentionBlockHeads;
}
constexpr int64_t AttentionHeadsPerBlock(int64_t group) {
  const int64_t blocks = AttentionHeadBlocks(group);
  return (group + blocks - 1) / blocks;
}

// Rows that one launch takes: each (row, block of heads) needs a counter.
constexpr int64_t AttentionSliceRows(int64_t kv_heads, int64_t group) {
  const int64_t fit = kAttentionCounters / (kv_heads * AttentionHeadBlocks(group));
  return fit < kAttentionSliceRows ? fit : kAttentionSliceRows;
}

// Scratch: counters, then (max, sum) [rows][heads][parts], then sums of values
// [rows][heads][parts][RoundUp4(head_dim)], all f32.
constexpr int64_t AttentionPaddedDim(int64_t head_dim) { return (head_dim + 3) / 4 * 4; }
constexpr int64_t AttentionPairsOffset() { return int64_t{kAttentionCounters} * 4; }
constexpr int64_t AttentionSumsOffset(int64_t rows, int64_t heads, int64_t parts) {
  return AttentionPairsOffset() + (rows * heads * parts * 8 + 15) / 16 * 16;
}
constexpr int64_t AttentionScratchBytes(int64_t rows, int64_t heads, int64_t parts,
                                        int64_t head_dim) {
  return AttentionSumsOffset(rows, heads, parts) +
         rows * heads * parts * AttentionPaddedDim(head_dim) * 4;
}

// A warp's 16-byte loads of f16 keys: head_dim/8 lanes hold one key, 32/lanes keys lie side by
// side, and `batch` of such rows are met at once. Dots of the batch are summed over the lanes so
// that lane l of a key's lanes ends with the dot of row l / (lanes/batch).
constexpr int AttentionLanes(int head_dim) { return head_dim / 8; }
constexpr int AttentionRowOfLane(int lane_of_key, int lanes, int batch) {
  return lane_of_key / (lanes / batch);
}
// Keys that the 8 warps of a block meet at once.
constexpr int AttentionSweep(int head_dim, int batch) {
  return 8 * (32 / AttentionLanes(head_dim)) * batch;
}
// The least batch of 2, 4 and 8 that meets a part at once, else 8.
constexpr int AttentionBatch(int head_dim, int64_t part_length) {
  for (int batch = 2; batch < 8; batch *= 2) {
    if (AttentionSweep(head_dim, batch) >= part_length) return batch;
  }
  return 8;
}

// --- Many rows: tiles in shared memory ---------------------------------------------------------

constexpr int kAttentionTileRows = 128;
constexpr int kAttentionTileKeys = 64;

// Byte offset of 16-byte piece `piece` (8 halves) of row `row` in a tile of `rows` rows: panels of
// 64 halves, rows of 128 bytes, pieces exchanged by the row's low bits. Eight rows' pieces of one
// number lie in eight different groups of banks; it is wgmma's 128-byte swizzle as well.
constexpr int AttentionTileOffset(int row, int piece, int rows) {
  return (piece / 8) * rows * 128 + row * 128 + (((piece % 8) ^ (row % 8)) * 16);
}

// From the address of piece 0 or 1 of some row, in a tile at a multiple of 1024, to that of piece +
// `pieces` (even) of the row `rows_on` (a multiple of 8) further on: one exclusive or, and a sum
// known at compile time.
constexpr uint32_t AttentionTileMove(uint32_t address, int rows_on, int pieces, int rows) {
  return (address ^ static_cast<uint32_t>(pieces % 8 * 16)) +
         static_cast<uint32_t>(pieces / 8 * rows * 128 + rows_on * 128);
}

// ldmatrix of four 8x8 matrices: the row and piece whose address lane l gives, so that the four
// registers are those of an A operand (16 rows x 16), of two B operands lying as [n][k] (16 n x 16
// k: keys), and of two B operands lying as [k][n], transposed on the way (16 k x 16 n: values).
struct AttentionMatrixLane {
  int row, piece;
};
constexpr AttentionMatrixLane AttentionLaneOfA(int lane) {
  return {lane % 8 + (lane / 8) % 2 * 8, lane / 16};
}
constexpr AttentionMatrixLane AttentionLaneOfKeys(int lane) {
  return {lane % 8 + lane / 16 * 8, (lane / 8) % 2};
}
constexpr AttentionMatrixLane AttentionLaneOfValues(int lane) {
  return {lane % 8 + (lane / 8) % 2 * 8, lane / 16};
}

// The k of 2^-k that brings a row of f16 queries into [2^14, 2^15): from the bits of its largest
// magnitude. 0 for a row of zeros or subnormals and for one with a NaN or an infinity.
constexpr int AttentionQueryShift(uint32_t magnitude_bits) {
  const int exponent = static_cast<int>(magnitude_bits >> 23);
  if (exponent == 0 || exponent == 255) return 0;
  const int shift = exponent - 127 - 14;
  return shift < -100 ? -100 : shift;
}

}  // namespace fg::cuda
