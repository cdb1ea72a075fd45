#include "engine/backend/cuda/cuda_operations.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/rope.h"
#include "kernels/cuda/activations.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/rms_norm.h"
#include "kernels/cuda/rope_kv.h"
#include "kernels/cuda/swiglu.h"

namespace fg {
namespace {

Status NoFamily(const char* op) {
  return Status(ErrorKind::kRefused,
                std::string(op) + ": the CUDA backend has no int8 prefill family yet");
}

// Each row one position after the one before it, as AttentionMany needs them.
bool Consecutive(const int32_t* at, int64_t rows) {
  for (int64_t row = 1; row < rows; ++row) {
    if (at[row] != at[row - 1] + 1) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<Operations>> CudaOperations::Make(const Gates& gates, Ledger* ledger,
                                                         MemoryBook* memory, const DeviceInfo& info,
                                                         CublasLt* cublaslt) {
  FG_ASSIGN_OR_RETURN(std::unique_ptr<CudaContext> context,
                      CudaContext::Make(gates, ledger, memory, info, cublaslt));
  return std::unique_ptr<Operations>(new CudaOperations(std::move(context)));
}

Result<DeviceBuffer> CudaOperations::Take(uint64_t bytes) {
  return DeviceBuffer::Allocate(bytes, MemoryCategory::kScratch, context_->memory(),
                                "an operation's arrays", "give the operation less data");
}

Result<DeviceBuffer> CudaOperations::CopyBytes(const void* from, uint64_t bytes) {
  FG_ASSIGN_OR_RETURN(DeviceBuffer buffer, Take(bytes));
  FG_RETURN_IF_ERROR(context_->Check(
      cudaMemcpyAsync(buffer.data(), from, bytes, cudaMemcpyHostToDevice, context_->stream()),
      "the copy of an operation's inputs"));
  return buffer;
}

Status CudaOperations::FinishBytes(const char* site, const void* from, void* to, uint64_t bytes) {
  FG_RETURN_IF_ERROR(context_->Wait(site));
  FG_RETURN_IF_ERROR(
      context_->Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, context_->stream()),
                      "the copy of an operation's outputs"));
  return context_->Wait(site);
}

Status CudaOperations::QuantizeRows(const float* x, int64_t rows, int64_t k,
                                    ActivationChunk* plane) {
  const Phase phase = PhaseOfRows(rows);
  context_->CountDispatch(phase, "quantize_rows", "quantize_rows");
  FG_ASSIGN_OR_RETURN(const DeviceBuffer in, Copy(x, rows * k));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer out, Take(rows * (k / kBlock32) * sizeof(*plane)));
  FG_RETURN_IF_ERROR(context_->Run(phase, "quantize_rows", [&] {
    return cuda::QuantizeRows(in.as<float>(), rows, k, out.as<ActivationChunk>(),
                              context_->stream());
  }));
  return Finish("quantize_rows", out, plane, rows * (k / kBlock32));
}

Status CudaOperations::RmsNorm(const float* x, const float* w, int64_t rows, int64_t n, float eps,
                               float* y) {
  const Phase phase = PhaseOfRows(rows);
  context_->CountDispatch(phase, "rms_norm", "rms_norm");
  FG_ASSIGN_OR_RETURN(const DeviceBuffer in, Copy(x, rows * n));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer weight, Copy(w, n));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer out, Take(rows * n * sizeof(float)));
  const cuda::RmsNormArgs args = {.x = in.as<float>(),
                                  .weight = weight.as<float>(),
                                  .eps = eps,
                                  .rows = rows,
                                  .n = n,
                                  .y = out.as<float>()};
  FG_RETURN_IF_ERROR(
      context_->Run(phase, "rms_norm", [&] { return cuda::RmsNorm(args, context_->stream()); }));
  return Finish("rms_norm", out, y, rows * n);
}

Status CudaOperations::Swiglu(const float* g, const float* u, int64_t rows, int64_t n, float* y) {
  const Phase phase = PhaseOfRows(rows);
  context_->CountDispatch(phase, "swiglu", "swiglu");
  FG_ASSIGN_OR_RETURN(const DeviceBuffer gate, Copy(g, rows * n));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer up, Copy(u, rows * n));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer out, Take(rows * n * sizeof(float)));
  const cuda::SwigluArgs args = {
      .g = gate.as<float>(), .u = up.as<float>(), .rows = rows, .n = n, .y = out.as<float>()};
  FG_RETURN_IF_ERROR(
      context_->Run(phase, "swiglu", [&] { return cuda::Swiglu(args, context_->stream()); }));
  return Finish("swiglu", out, y, rows * n);
}

Status CudaOperations::Rope(float* x, int64_t rows, int64_t heads, int64_t head_dim,
                            const int32_t* positions, double base) {
  const Phase phase = PhaseOfRows(rows);
  context_->CountDispatch(phase, "rope", "rope");
  const int32_t last = *std::max_element(positions, positions + rows);
  const RopeTable table = MakeRopeTable(int64_t{last} + 1, head_dim, base);
  const int64_t count = rows * heads * head_dim, angles = table.positions * table.pairs;
  FG_ASSIGN_OR_RETURN(const DeviceBuffer values, Copy(x, count));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer at, Copy(positions, rows));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer cosine, Copy(table.cosine.data(), angles));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer sine, Copy(table.sine.data(), angles));
  const cuda::RopeTables tables = {cosine.as<float>(), sine.as<float>(), table.pairs};
  FG_RETURN_IF_ERROR(context_->Run(phase, "rope", [&] {
    return cuda::Rope(values.as<float>(), at.as<int32_t>(), tables, rows, heads, head_dim,
                      values.as<float>(), context_->stream());
  }));
  return Finish("rope", values, x, count);
}

Status CudaOperations::Attention(const AttentionShape& shape, const float* q, const uint16_t* keys,
                                 const uint16_t* values, const int32_t* at, float* y) {
  const Phase phase = PhaseOfRows(shape.rows);
  const bool many = shape.rows >= kPrefillRows && cuda::AttentionManyServes(shape.head_dim) &&
                    Consecutive(at, shape.rows);
  const char* label = many ? "attention.many" : "attention.few";
  context_->CountDispatch(phase, "attention", label);
  const int64_t count = shape.rows * shape.heads * shape.head_dim;
  const int64_t cached = shape.positions * shape.kv_heads * shape.head_dim;
  const int64_t length = int64_t{*std::max_element(at, at + shape.rows)} + 1;
  FG_ASSIGN_OR_RETURN(const DeviceBuffer in, Copy(q, count));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer k, Copy(keys, cached));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer v, Copy(values, cached));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer positions, Copy(at, shape.rows));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer out, Take(count * sizeof(float)));
  const auto scratch_bytes = static_cast<uint64_t>(
      many ? 0
           : cuda::AttentionFewScratch(shape.rows, shape.heads, shape.kv_heads, shape.head_dim,
                                       length));
  FG_ASSIGN_OR_RETURN(const DeviceBuffer scratch, Take(scratch_bytes));
  if (scratch_bytes > 0) {
    FG_RETURN_IF_ERROR(context_->Check(
        cudaMemsetAsync(scratch.data(), 0, scratch_bytes, context_->stream()), label));
  }
  const cuda::AttentionArgs args = {.q = in.as<float>(),
                                    .keys = k.as<uint16_t>(),
                                    .values = v.as<uint16_t>(),
                                    .positions = positions.as<int32_t>(),
                                    .rows = shape.rows,
                                    .heads = shape.heads,
                                    .kv_heads = shape.kv_heads,
                                    .head_dim = shape.head_dim,
                                    .y = out.as<float>(),
                                    .scratch = scratch.data()};
  FG_RETURN_IF_ERROR(context_->Run(phase, label, [&] {
    return many ? cuda::AttentionMany(args, context_->stream())
                : cuda::AttentionFew(args, cuda::AttentionBucket(length), context_->stream());
  }));
  return Finish(label, out, y, count);
}

Status CudaOperations::Exp(const float* x, int64_t n, float* y) {
  context_->CountDispatch(Phase::kDecode, "exp", "exp");
  FG_ASSIGN_OR_RETURN(const DeviceBuffer values, Copy(x, n));
  FG_RETURN_IF_ERROR(context_->Run(Phase::kDecode, "exp", [&] {
    return cuda::Exp(values.as<float>(), n, values.as<float>(), context_->stream());
  }));
  return Finish("exp", values, y, n);
}

Status CudaOperations::QuantizeTiles(const float*, int64_t, int64_t, ActivationTile*) {
  return NoFamily("quantize_tiles");
}

Status CudaOperations::RmsNormTiles(const float*, const float*, int64_t, int64_t, float, int,
                                    float*, ActivationTile*) {
  return NoFamily("rms_norm_tiles");
}

Status CudaOperations::SwigluTiles(const float*, const float*, int64_t, int64_t, int, float*,
                                   ActivationTile*) {
  return NoFamily("swiglu_tiles");
}

}  // namespace fg
