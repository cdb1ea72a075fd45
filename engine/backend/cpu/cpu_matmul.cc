// The matmul entries of cpu_ops.h.
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/f16_cache.h"
#include "engine/backend/cpu/matmul_path.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/matvec.h"
#include "kernels/cpu/mmq.h"
#include "kernels/cpu/quantize_rows.h"

namespace fg {
namespace {

// Outputs are shared out in whole vectors and cache lines.
constexpr int64_t kOutputMultiple = 32;

struct Call {
  const CpuWeight& weight;
  const float* x;
  int64_t rows;
  const float* bias;
  float* y;
  Phase phase;

  int64_t k() const { return weight.view.k; }
  int64_t out() const { return weight.view.out; }
  int64_t output_grain() const { return GrainFor(rows * k(), kOutputMultiple); }
};

// The int8 plane of the call's rows, made unless a neighbour made it already.
Status FillQuantized(CpuContext& context, const Call& call) {
  ActivationPlanes& planes = context.planes();
  FG_RETURN_IF_ERROR(planes.ReserveQuantized(call.rows, call.k()));
  const bool held = planes.HoldsQuantized(call.x, call.rows, call.k());
  context.CountPlane(held);
  if (held) return Status::Ok();
  const int64_t chunks = call.k() / kBlock32;
  context.Parallel(call.phase, call.rows, GrainFor(call.k()), [&](Range rows, int) {
    QuantizeRows(context.level(), call.x + rows.begin * call.k(), call.k(), rows.size(), call.k(),
                 planes.quantized() + rows.begin * chunks, context.quantizer_fault());
  });
  return Status::Ok();
}

Status FillRounded(CpuContext& context, const Call& call) {
  ActivationPlanes& planes = context.planes();
  FG_RETURN_IF_ERROR(planes.ReserveRounded(call.rows, call.k()));
  const bool held = planes.HoldsRounded(call.x, call.rows, call.k());
  context.CountPlane(held);
  if (held) return Status::Ok();
  context.Parallel(call.phase, call.rows, GrainFor(call.k()), [&](Range rows, int) {
    RoundRowsToF16(context.level(), call.x + rows.begin * call.k(), call.k(), rows.size(), call.k(),
                   planes.rounded() + rows.begin * call.k(), planes.exponents() + rows.begin);
  });
  return Status::Ok();
}

Status RunRows(CpuContext& context, const Call& call) {
  const WeightView& view = call.weight.view;
  const bool quantized = InfoOf(view.type).quantized;
  if (quantized) FG_RETURN_IF_ERROR(FillQuantized(context, call));
  const ActivationChunk* plane = context.planes().quantized();
  context.Parallel(call.phase, call.out(), call.output_grain(), [&](Range outs, int) {
    for (int64_t row = 0; row < call.rows; ++row) {
      float* y = call.y + row * call.out();
      if (quantized) {
        MatvecQuantized(context.level(), view.type, view.data, plane + row * (call.k() / kBlock32),
                        call.k(), call.bias, outs, y);
      } else {
        MatvecFloat(context.level(), view.type, view.data, call.x + row * call.k(), call.k(),
                    call.bias, outs, y);
      }
    }
  });
  return Status::Ok();
}

Status RunGemmF16(CpuContext& context, const Call& call, MatmulPath path) {
  const WeightView& view = call.weight.view;
  const void* weights = InfoOf(view.type).quantized ? call.weight.f16 : view.data;
  if (weights == nullptr) {
    return Status(ErrorKind::kInternal, "weight '" + view.name + "' has no f16 cache");
  }
  FG_RETURN_IF_ERROR(FillRounded(context, call));
  const auto gemm = path == MatmulPath::kGemmBF16 ? GemmBF16 : GemmF16;
  context.Parallel(call.phase, call.out(), call.output_grain(), [&](Range outs, int) {
    gemm(context.level(), static_cast<const uint16_t*>(weights), context.planes().rounded(),
         context.planes().exponents(), call.rows, call.k(), call.bias, outs, call.y, call.out());
  });
  return Status::Ok();
}

Status RunGemmF32(CpuContext& context, const Call& call) {
  context.Parallel(call.phase, call.out(), call.output_grain(), [&](Range outs, int) {
    GemmF32(context.level(), static_cast<const float*>(call.weight.view.data), call.x, call.k(),
            call.rows, call.k(), call.bias, outs, call.y, call.out());
  });
  return Status::Ok();
}

Status RunMmq(CpuContext& context, const Call& call, MatmulPath path) {
  FG_RETURN_IF_ERROR(FillQuantized(context, call));
  const MmqForm form = path == MatmulPath::kMmqNibble ? MmqForm::kNibble
                       : path == MatmulPath::kMmqRaw  ? MmqForm::kRaw
                                                      : MmqForm::kGeneric;
  const MmqArgs args = {.type = call.weight.view.type,
                        .w = call.weight.view.data,
                        .a = context.planes().quantized(),
                        .rows = call.rows,
                        .k = call.k(),
                        .bias = call.bias,
                        .y = call.y,
                        .ldy = call.out()};
  const KernelFault fault = KernelFaultOf(context.gates().faults(), path);
  context.Parallel(call.phase, call.out(), call.output_grain(),
                   [&](Range outs, int) { Mmq(context.level(), form, args, outs, fault); });
  return Status::Ok();
}

Status Bad(const WeightView& view, const std::string& message) {
  return Status(ErrorKind::kBadModel, "weight '" + view.name + "': " + message);
}

}  // namespace

Status CheckMatmulWeight(const WeightView& view) {
  const TensorTypeInfo& info = InfoOf(view.type);
  if (!info.computable) return Bad(view, std::string("no kernels for type ") + info.name);
  if (view.k < 1 || view.out < 1) return Bad(view, "a weight needs at least one row and one value");
  if (view.k % info.block_values != 0) {
    return Bad(view, std::string(info.name) + " rows are multiples of " +
                         std::to_string(info.block_values) + " values, found " +
                         std::to_string(view.k));
  }
  return Status::Ok();
}

Status RunMatmul(CpuContext& context, const CpuWeight& weight, const float* x, int64_t rows,
                 const float* bias, float* y, Phase phase) {
  const Call call = {weight, x, rows, bias, y, phase};
  const MatmulChoice choice =
      ChooseMatmulPath(context.gates(), weight.view.type, weight.view.k, rows, phase);
  context.CountDispatch(phase, "matmul", choice.label);
  switch (choice.path) {
    case MatmulPath::kRows:
      return RunRows(context, call);
    case MatmulPath::kGemmF16:
    case MatmulPath::kGemmBF16:
      return RunGemmF16(context, call, choice.path);
    case MatmulPath::kGemmF32:
      return RunGemmF32(context, call);
    case MatmulPath::kMmqGeneric:
    case MatmulPath::kMmqRaw:
    case MatmulPath::kMmqNibble:
      return RunMmq(context, call, choice.path);
  }
  return Status(ErrorKind::kInternal, "no such matmul path");
}

Status RunMatmulAlone(CpuContext& context, const WeightView& view, const float* x, int64_t rows,
                      const float* bias, float* y, Phase phase) {
  FG_RETURN_IF_ERROR(CheckMatmulWeight(view));
  context.planes().Clear();
  CpuWeight weight = {view, nullptr};
  HostBuffer cache;
  // As a model's registration does, so that the reads are those of a load.
  const bool cached =
      InfoOf(view.type).quantized &&
      ChooseMatmulPath(context.gates(), view.type, view.k, rows, Phase::kLoad).path ==
          MatmulPath::kGemmF16;
  if (cached) {
    FG_ASSIGN_OR_RETURN(cache, BuildF16Cache(context, view));
    weight.f16 = cache.as<uint16_t>();
  }
  const Status status = RunMatmul(context, weight, x, rows, bias, y, phase);
  context.planes().Clear();
  return status;
}

}  // namespace fg
