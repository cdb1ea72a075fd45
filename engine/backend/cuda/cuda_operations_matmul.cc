// The matmul of cuda_operations.h.
#include <algorithm>

#include "engine/backend/cuda/cuda_matmul_path.h"
#include "engine/backend/cuda/cuda_operations.h"
#include "engine/backend/cuda/cuda_weights_f16.h"
#include "engine/backend/cuda/cuda_weights_upload.h"
#include "kernels/cuda/activations.h"
#include "kernels/cuda/matvec.h"

namespace fg {
namespace {

Status Bad(const WeightView& view, const std::string& message) {
  return Status(ErrorKind::kBadModel, "weight '" + view.name + "': " + message);
}

// As CheckMatmulWeight of engine/backend/cpu/cpu_ops.h, of what this backend has kernels for.
Status CheckWeight(const WeightView& view) {
  const TensorTypeInfo& info = InfoOf(view.type);
  if (view.k < 1 || view.out < 1) return Bad(view, "a weight needs at least one row and one value");
  if (view.k % info.block_values != 0) {
    return Bad(view, std::string(info.name) + " rows are multiples of " +
                         std::to_string(info.block_values) + " values, found " +
                         std::to_string(view.k));
  }
  if (cuda::ResidentRowBytes(view.type, view.k) == 0) {
    return Bad(view, std::string("no kernels for type ") + info.name);
  }
  return Status::Ok();
}

}  // namespace

struct CudaOperations::MatmulCall {
  const WeightView& view;
  CudaMatmulPath path;
  Phase phase;
  int64_t rows;
  // All live to the end of the call: its kernels run until then.
  DeviceBuffer x = {}, bias = {}, y = {}, resident = {}, f16 = {}, plane = {}, scale = {};

  std::string label() const { return CudaMatmulLabel(path, view.type); }
};

// Resident, and with the f16 cache that `call.path` reads.
Status CudaOperations::TakeWeight(const WeightView& view, bool wide, MatmulCall* call) {
  const auto row_bytes = static_cast<uint64_t>(RowBytes(view.type, view.k));
  FG_ASSIGN_OR_RETURN(
      call->resident,
      DeviceBuffer::Allocate(
          static_cast<uint64_t>(cuda::ResidentRowBytes(view.type, view.k)) * view.out,
          MemoryCategory::kWeights, context_->memory(), "weight '" + view.name + "'",
          "give the operation less data"));
  {
    WeightUpload upload;
    FG_RETURN_IF_ERROR(upload.Start(context_.get(), row_bytes * view.out, row_bytes));
    FG_RETURN_IF_ERROR(upload.Upload(view, call->resident.data()));
  }
  if (!wide || !NeedsF16Cache(context_->gates(), view)) return Status::Ok();
  FG_ASSIGN_OR_RETURN(
      call->f16, DeviceBuffer::Allocate(uint64_t{2} * view.out * view.k, MemoryCategory::kF16Cache,
                                        context_->memory(), "the f16 cache of '" + view.name + "'",
                                        "give the operation less data"));
  return BuildF16Caches(*context_, {{view, call->resident.data(), call->f16.as<uint16_t>()}});
}

// Slices of at most kMostMatvecRows rows: a row's bits are those that it has alone.
Status CudaOperations::RunRows(MatmulCall& call) {
  const WeightView& view = call.view;
  if (InfoOf(view.type).quantized) {
    context_->CountDispatch(call.phase, "prepass", "prepass.rows");
    FG_ASSIGN_OR_RETURN(call.plane,
                        Take(call.rows * (view.k / kBlock32) * sizeof(ActivationChunk)));
    FG_RETURN_IF_ERROR(context_->Run(call.phase, "prepass.rows", [&] {
      return cuda::QuantizeRows(call.x.as<float>(), call.rows, view.k,
                                call.plane.as<ActivationChunk>(), context_->stream());
    }));
  }
  context_->CountDispatch(call.phase, "matmul", call.label());
  for (int64_t row = 0; row < call.rows; row += cuda::kMostMatvecRows) {
    const int64_t rows = std::min<int64_t>(cuda::kMostMatvecRows, call.rows - row);
    cuda::MatvecArgs args = {.type = view.type,
                             .w = call.resident.data(),
                             .k = view.k,
                             .out = view.out,
                             .rows = rows,
                             .bias = call.bias.as<float>(),
                             .y = call.y.as<float>() + row * view.out};
    if (call.plane.data() != nullptr) {
      args.plane = call.plane.as<ActivationChunk>() + row * (view.k / kBlock32);
    } else {
      args.x = call.x.as<float>() + row * view.k;
    }
    FG_RETURN_IF_ERROR(context_->Run(call.phase, call.label().c_str(),
                                     [&] { return cuda::Matvec(args, context_->stream()); }));
  }
  return Status::Ok();
}

Status CudaOperations::RunGemm(MatmulCall& call) {
  const WeightView& view = call.view;
  const bool f16 = call.path == CudaMatmulPath::kGemmF16;
  const GemmShape shape = {f16 ? GemmType::kF16 : GemmType::kF32, call.rows, view.k, view.out};
  FG_RETURN_IF_ERROR(context_->cublaslt().Prepare(shape));
  const void* x = call.x.data();
  const void* w = call.f16.data() != nullptr ? call.f16.data() : call.resident.data();
  if (f16) {
    context_->CountDispatch(call.phase, "prepass", "prepass.f16");
    FG_ASSIGN_OR_RETURN(call.plane, Take(call.rows * view.k * sizeof(uint16_t)));
    FG_ASSIGN_OR_RETURN(call.scale, Take(call.rows * sizeof(float)));
    FG_RETURN_IF_ERROR(context_->Run(call.phase, "prepass.f16", [&] {
      return cuda::RowsToF16(call.x.as<float>(), call.rows, view.k, call.plane.as<uint16_t>(),
                             call.scale.as<float>(), context_->stream());
    }));
    x = call.plane.data();
  }
  context_->CountDispatch(call.phase, "gemm", context_->cublaslt().AlgorithmName(shape));
  context_->CountDispatch(call.phase, "matmul", call.label());
  FG_RETURN_IF_ERROR(context_->Run(call.phase, call.label().c_str(), [&] {
    return context_->cublaslt().Run(shape, x, w, call.y.as<float>(), context_->stream());
  }));
  if (!f16 && call.bias.data() == nullptr) return Status::Ok();
  return context_->Run(call.phase, "scale_bias", [&] {
    return cuda::ScaleBias(call.y.as<float>(), call.rows, view.out, call.scale.as<float>(),
                           call.bias.as<float>(), context_->stream());
  });
}

Status CudaOperations::Matmul(const WeightView& view, const float* x, int64_t rows,
                              const float* bias, float* y) {
  FG_RETURN_IF_ERROR(CheckWeight(view));
  const Phase phase = PhaseOfRows(rows);
  MatmulCall call = {
      .view = view,
      .path = ChooseCudaMatmulPath(context_->gates(), view.type, view.k, rows, phase),
      .phase = phase,
      .rows = rows};
  FG_RETURN_IF_ERROR(TakeWeight(view, call.path != CudaMatmulPath::kRows, &call));
  FG_ASSIGN_OR_RETURN(call.x, Copy(x, rows * view.k));
  if (bias != nullptr) {
    FG_ASSIGN_OR_RETURN(call.bias, Copy(bias, view.out));
  }
  FG_ASSIGN_OR_RETURN(call.y, Take(rows * view.out * sizeof(float)));
  FG_RETURN_IF_ERROR(call.path == CudaMatmulPath::kRows ? RunRows(call) : RunGemm(call));
  return Finish(call.label().c_str(), call.y, y, rows * view.out);
}

}  // namespace fg
