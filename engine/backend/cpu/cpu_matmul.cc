// The matmul entries of cpu_ops.h.
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/matmul_path.h"
#include "engine/backend/cpu/weight_registration.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/matvec.h"
#include "kernels/cpu/mmq.h"
#include "kernels/cpu/mmq_tiles.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/cpu/quantize_tiles.h"

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
  int node;  // that wrote x

  int64_t k() const { return weight.view.k; }
  int64_t out() const { return weight.view.out; }
  int64_t output_grain() const { return GrainFor(rows * k(), kOutputMultiple); }
  PlaneSource source() const { return {x, rows, k(), node}; }
};

void MakeRows(CpuContext& context, const Call& call) {
  const int64_t k = call.k();
  context.Parallel(call.phase, call.rows, GrainFor(k), [&](Range rows, int) {
    QuantizeRows(context.level(), call.x + rows.begin * k, k, rows.size(), k,
                 context.planes().rows() + rows.begin * (k / kBlock32), context.quantizer_fault());
  });
}

void MakeTiles(CpuContext& context, const Call& call) {
  const int64_t k = call.k();
  context.Parallel(call.phase, TileCount(call.rows), GrainFor(kTileRows * k), [&](Range t, int) {
    QuantizeTiles(context.level(), call.x, k, call.rows, k, t, context.planes().tiles(),
                  context.tile_quantizer_fault());
  });
}

void MakeF16(CpuContext& context, const Call& call) {
  const int64_t k = call.k();
  uint16_t* plane = context.planes().f16();
  int32_t* exponents = context.planes().exponents(call.rows, k);
  context.Parallel(call.phase, call.rows, GrainFor(k), [&](Range rows, int) {
    RoundRowsToF16(context.level(), call.x + rows.begin * k, k, rows.size(), k,
                   plane + rows.begin * k, exponents + rows.begin);
  });
}

// The plane of the call's rows, made unless a neighbour made it already.
Status FillPlane(CpuContext& context, const Call& call, PlaneLayout layout) {
  ActivationPlanes& planes = context.planes();
  FG_RETURN_IF_ERROR(planes.Reserve(layout, call.rows, call.k()));
  FG_ASSIGN_OR_RETURN(const bool held, planes.Holds(layout, call.source()));
  context.CountPlane(held);
  if (held) return Status::Ok();
  context.CountPrepass(call.phase, layout);
  switch (layout) {
    case PlaneLayout::kRows:
      MakeRows(context, call);
      break;
    case PlaneLayout::kTiles:
      MakeTiles(context, call);
      break;
    case PlaneLayout::kF16:
      MakeF16(context, call);
      break;
  }
  planes.Record(layout, call.source());
  return Status::Ok();
}

Status RunRows(CpuContext& context, const Call& call) {
  const WeightView& view = call.weight.view;
  const bool quantized = InfoOf(view.type).quantized;
  if (quantized) {
    FG_RETURN_IF_ERROR(FillPlane(context, call, PlaneLayout::kRows));
  } else {
    FG_RETURN_IF_ERROR(context.planes().CheckWritten(call.source()));
  }
  const ActivationChunk* plane = context.planes().rows();
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
  FG_RETURN_IF_ERROR(FillPlane(context, call, PlaneLayout::kF16));
  const int32_t* exponents = context.planes().exponents(call.rows, call.k());
  const auto gemm = path == MatmulPath::kGemmBF16 ? GemmBF16 : GemmF16;
  context.Parallel(call.phase, call.out(), call.output_grain(), [&](Range outs, int) {
    gemm(context.level(), static_cast<const uint16_t*>(weights), context.planes().f16(), exponents,
         call.rows, call.k(), call.bias, outs, call.y, call.out());
  });
  return Status::Ok();
}

Status RunGemmF32(CpuContext& context, const Call& call) {
  FG_RETURN_IF_ERROR(context.planes().CheckWritten(call.source()));
  context.Parallel(call.phase, call.out(), call.output_grain(), [&](Range outs, int) {
    GemmF32(context.level(), static_cast<const float*>(call.weight.view.data), call.x, call.k(),
            call.rows, call.k(), call.bias, outs, call.y, call.out());
  });
  return Status::Ok();
}

Status RunMmq(CpuContext& context, const Call& call, const MatmulChoice& choice) {
  FG_RETURN_IF_ERROR(FillPlane(context, call, PlaneLayout::kRows));
  const MmqForm form = choice.path == MatmulPath::kMmqNibble ? MmqForm::kNibble
                       : choice.path == MatmulPath::kMmqRaw  ? MmqForm::kRaw
                                                             : MmqForm::kGeneric;
  const bool expanded = choice.plane == WeightPlane::kExpanded;
  const MmqArgs args = {.type = call.weight.view.type,
                        .w = call.weight.view.data,
                        .a = context.planes().rows(),
                        .rows = call.rows,
                        .k = call.k(),
                        .bias = call.bias,
                        .y = call.y,
                        .ldy = call.out(),
                        .expanded = expanded ? call.weight.expanded : nullptr};
  const KernelFault fault = KernelFaultOf(context.gates().faults(), choice);
  context.Parallel(call.phase, call.out(), call.output_grain(),
                   [&](Range outs, int) { Mmq(context.level(), form, args, outs, fault); });
  return Status::Ok();
}

Status RunMmqTiles(CpuContext& context, const Call& call, const MatmulChoice& choice) {
  FG_RETURN_IF_ERROR(FillPlane(context, call, PlaneLayout::kTiles));
  const bool scales = choice.plane == WeightPlane::kScales;
  const bool expanded = choice.plane == WeightPlane::kExpanded;
  const MmqTilesArgs args = {.type = call.weight.view.type,
                             .w = call.weight.view.data,
                             .scales = scales ? call.weight.scales : nullptr,
                             .expanded = expanded ? call.weight.expanded : nullptr,
                             .a = context.planes().tiles(),
                             .rows = call.rows,
                             .k = call.k(),
                             .out_total = call.out(),
                             .bias = call.bias,
                             .y = call.y,
                             .ldy = call.out()};
  const KernelFault fault = KernelFaultOf(context.gates().faults(), choice);
  context.Parallel(call.phase, call.out(), call.output_grain(),
                   [&](Range outs, int) { MmqTiles(context.level(), args, outs, fault); });
  return Status::Ok();
}

// What the table wants, less a plane that did not fit.
MatmulChoice Choose(CpuContext& context, const Call& call) {
  const MatmulChoice choice =
      ChooseMatmulPath(context.gates(), call.weight.view.type, call.k(), call.rows, call.phase);
  if (context.violation() == Violation::kDeadWrite && context.planes().IsDead(call.source())) {
    return OnRowMajorPlane(choice, call.weight.view.type);
  }
  const bool missing = (choice.plane == WeightPlane::kScales && call.weight.scales == nullptr) ||
                       (choice.plane == WeightPlane::kExpanded && call.weight.expanded == nullptr);
  return missing ? WithoutPlane(choice) : choice;
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
                 const float* bias, float* y, Phase phase, int node) {
  const Call call = {weight, x, rows, bias, y, phase, node};
  const MatmulChoice choice = Choose(context, call);
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
      return RunMmq(context, call, choice);
    case MatmulPath::kMmqTiles:
      return RunMmqTiles(context, call, choice);
  }
  return Status(ErrorKind::kInternal, "no such matmul path");
}

Status RunMatmulAlone(CpuContext& context, const WeightView& view, const float* x, int64_t rows,
                      const float* bias, float* y, Phase phase) {
  FG_RETURN_IF_ERROR(CheckMatmulWeight(view));
  context.planes().Clear();
  // As a model's registration does, so that the reads are those of a load.
  WeightRegistrar registrar(&context);
  FG_ASSIGN_OR_RETURN(const RegisteredWeight registered, registrar.Register(view, rows));
  const Status status = RunMatmul(context, registered.weight, x, rows, bias, y, phase);
  context.planes().Clear();
  return status;
}

}  // namespace fg
