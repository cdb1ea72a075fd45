// The order in which a one-row kernel adds up an output: a function of K and the type alone, so
// that it is the same for every number of rows, every launch shape and every GPU.
//
// Quantized types. A row's n = K/32 chunks are put into n slots; slot s belongs to lane s mod 16 of
// the 16 lanes that share the row, in step s / 16. A lane keeps the contract's acc (docs/
// arithmetic.md) over its slots in ascending order, chunks ascending too. At the end lane l adds
// lane l ^ 8, then l ^ 4, l ^ 2, l ^ 1; then bias, then residual.
//
// Which chunk a slot keeps: slot s keeps chunk s, but for q6_K, where the two low bits of s are
// swapped (slots 8b + 0, 1, 2, 3 keep chunks 8b + 0, 2, 1, 3): its file packs chunks c and c + 2 of
// a half super-block into the same bytes.
//
// A slot loads two half chunks of 16 values, from one 16-byte piece of nibbles: the low ones and
// the high ones. In q4_0, q5_0 (and q8_0, without nibbles) they are both halves of the slot's
// chunk. In q4_K and q6_K they belong to two chunks, and the neighbouring slots 2i and 2i + 1 hold
// the halves of the same two: the even slot keeps the low chunk, the odd slot the high one, and
// each gives the other's integer sum away. That sum is exact, so it does not touch the order.
//
// f32, f16 and bf16. The K values are cut into groups of 4 (f32) or 8 (f16, bf16); group g belongs
// to lane g mod 32. A lane starts at +0 and takes the values of its groups in ascending order by
// fma(w, x, acc); then lane l adds lane l ^ 16, l ^ 8, l ^ 4, l ^ 2, l ^ 1; then bias, residual.
#pragma once

#include <cstdint>

#include "kernels/formats/tensor_type.h"

namespace fg::cuda {

constexpr int kMatvecLanes = 16;       // lanes that share a quantized row
constexpr int kMatvecFloatLanes = 32;  // lanes that share a float row

constexpr bool IsSuperBlockType(TensorType type) {
  return type == TensorType::kQ4_K || type == TensorType::kQ6_K;
}

// Slots that lie together in one block of weights.
constexpr int SlotsOfBlock(TensorType type) { return IsSuperBlockType(type) ? 8 : 1; }

// The chunk that a slot keeps; its own inverse.
constexpr int ChunkOfSlot(TensorType type, int slot) {
  if (type != TensorType::kQ6_K) return slot;
  return (slot & ~3) | ((slot & 1) << 1) | ((slot & 2) >> 1);
}
constexpr int SlotOfChunk(TensorType type, int chunk) { return ChunkOfSlot(type, chunk); }

constexpr int LaneOfChunk(TensorType type, int chunk) {
  return SlotOfChunk(type, chunk) % kMatvecLanes;
}

// 16 consecutive values of a row: half (0 or 1) of a chunk.
struct HalfChunk {
  int chunk;
  int half;
};

// What the low and the high nibbles of a slot's piece are.
constexpr HalfChunk LowHalf(TensorType type, int slot) {
  if (!IsSuperBlockType(type)) return {slot, 0};
  return {ChunkOfSlot(type, slot & ~1), slot & 1};
}
constexpr HalfChunk HighHalf(TensorType type, int slot) {
  if (!IsSuperBlockType(type)) return {slot, 1};
  return {ChunkOfSlot(type, slot | 1), slot & 1};
}

// Values of a group of a float type.
constexpr int FloatGroup(TensorType type) { return type == TensorType::kF32 ? 4 : 8; }
constexpr int LaneOfValue(TensorType type, int64_t value) {
  return static_cast<int>(value / FloatGroup(type) % kMatvecFloatLanes);
}

}  // namespace fg::cuda
