// One step of a forward on the device: a kernel (or a few of one form) with what it covers, reads
// and writes. Pure data; engine/backend/cuda/cuda_plan.h makes steps from a graph,
// cuda_step_runner.h runs them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace fg {

enum class StepKind {
  kEmbed,         // out[0] = rows of the table
  kNorm,          // in[0] x, in[1] the other part of a sum or none, in_scale of in[1];
                  // out[0] y, out[1] the sum, f16, chunks
  kGemm,          // plane (f16) or in[0] (f32) -> out[0]
  kMatvec,        // one to three matmuls of chunks or in[0], with their bias; residual -> out[i]
  kGateUp,        // matmuls gate and up of chunks or in[0] -> out[0], chunks
  kScaleBias,     // out[0] = out[0] * in_scale + bias, in place
  kRopeKv,        // in q, k, v, in_scale of all three, bias -> out[0] rotated q, the KV cache
  kRope,          // in[0] -> out[0]
  kKvStore,       // in k, v -> the KV cache
  kAttention,     // in[0] q, the KV cache -> out[0], chunks
  kSwiglu,        // in gate, up, in_scale of both -> out[0], f16, chunks
  kAdd,           // in[0] + in[1] -> out[0]
  kRowsToF16,     // in[0] -> f16
  kQuantizeRows,  // in[0] -> chunks
  kView,          // rows of another node's output, where they lie: nothing runs
  kLogits,        // in[0]: logits that are ready, rows from logits_row on
};

// A place in one of the plan's buffers; buffer -1 for none.
struct Operand {
  int buffer = -1;
  int64_t offset = 0;  // bytes
  explicit operator bool() const { return buffer >= 0; }
  bool operator==(const Operand&) const = default;
};

// What the ledger counts.
struct StepLabel {
  std::string op, label;
  bool operator==(const StepLabel&) const = default;
};

struct CudaStep {
  StepKind kind = StepKind::kEmbed;
  int owner = 0;                // the graph node for which it runs
  std::vector<int> nodes = {};  // those that it covers, ascending: their results are there after it
  std::vector<StepLabel> labels = {};
  std::string kernel = {};  // as errors and times call it: "gemm.f16.q4_K 18944x3584"

  int64_t rows = 0, columns = 0;  // of the output (kLogits, prepasses: of the input)
  int64_t k = 0;                  // of matmuls
  int64_t layer = -1;             // kRopeKv, kKvStore, kAttention
  int64_t head_dim = 0;           // kRope, kRopeKv, kAttention
  int64_t logits_row = -1;        // kLogits
  bool many = false;              // kAttention: tensor cores
  bool f32 = false;               // kGemm, kMatvec, kGateUp: of f32 rows, not of a plane

  // Nodes whose weights (matmul: or table, or norm) and biases it takes; -1 for none.
  std::array<int, 3> weight = {-1, -1, -1};
  std::array<int, 3> bias = {-1, -1, -1};

  std::array<Operand, 3> in = {};
  Operand in_scale = {}, plane = {}, residual = {};
  std::array<Operand, 3> out = {};
  Operand f16 = {}, f16_scale = {}, chunks = {};

  std::vector<Operand> Reads() const;   // those that are there
  std::vector<Operand> Writes() const;  // kScaleBias reads what it writes
};

// A buffer of a plan. Written first at step `first`, needed until after step `last`.
struct StepBuffer {
  int64_t bytes = 0;
  int first = -1, last = -1;
  int64_t offset = -1;  // bytes into the pool; -1 where no step touches it
  bool logits = false;  // lies in the device's array of logits, not in the pool
  bool operator==(const StepBuffer&) const = default;
};

constexpr int64_t kStepBufferAlignment = 256;  // bytes

// Sets first and last of each buffer from the steps, and a place for each: the largest first, each
// at the lowest place that is free for as long as it is needed. Returns the bytes of the pool.
int64_t PlaceBuffers(const std::vector<CudaStep>& steps, std::vector<StepBuffer>* buffers);

}  // namespace fg
