#include "engine/backend/cuda/cuda_step_runner.h"

#include <algorithm>

#include "kernels/cuda/activations.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/faulty_logits.h"
#include "kernels/cuda/matvec.h"
#include "kernels/cuda/resident.h"
#include "kernels/cuda/rms_norm.h"
#include "kernels/cuda/swiglu.h"

namespace fg {
namespace {

constexpr double kF32 = 4, kF16 = 2;

// Bytes of steps that move each value once: `f32` arrays of rows x columns, and planes.
LaunchWork Moves(const CudaStep& step, int f32) {
  const double values = static_cast<double>(step.rows) * static_cast<double>(step.columns);
  double bytes = values * kF32 * f32;
  if (step.f16) bytes += values * kF16;
  if (step.chunks) bytes += values / kBlock32 * sizeof(ActivationChunk);
  return {.operations = 0, .bytes = bytes};
}

int CountOf(const std::array<Operand, 3>& operands) {
  return static_cast<int>(std::count_if(operands.begin(), operands.end(),
                                        [](const Operand& o) { return static_cast<bool>(o); }));
}

int CountOf(const std::array<int, 3>& nodes) {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](int node) { return node >= 0; }));
}

// Calls `run(first row, rows)` for slices of what the one-row kernels take.
template <typename Run>
Status InSlices(int64_t rows, const Run& run) {
  for (int64_t done = 0; done < rows; done += cuda::kMostMatvecRows) {
    FG_RETURN_IF_ERROR(run(done, std::min<int64_t>(cuda::kMostMatvecRows, rows - done)));
  }
  return Status::Ok();
}

template <typename T>
T* Advance(T* pointer, int64_t count) {
  return pointer == nullptr ? nullptr : pointer + count;
}

}  // namespace

Status StepRunner::Check(cudaError_t error, const char* site) {
  if (error == cudaSuccess) return Status::Ok();
  if (counts_ == nullptr) return context_.Check(error, site);
  return Status(ErrorKind::kDevice, std::string(site) + ": " + cudaGetErrorString(error) + " (" +
                                        cudaGetErrorName(error) + ")");
}

void StepRunner::Count(const std::string& op, const std::string& label) {
  if (counts_ == nullptr) {
    context_.CountDispatch(phase_, op.c_str(), label);
  } else {
    ++counts_->labels[{op, label}];
  }
}

Status StepRunner::Run(const CudaPlan& plan, const CudaStep& step) {
  for (const StepLabel& label : step.labels) Count(label.op, label.label);
  return RunStep(plan, step);
}

Status StepRunner::RunStep(const CudaPlan& plan, const CudaStep& step) {
  switch (step.kind) {
    case StepKind::kEmbed:
      return RunEmbed(plan, step);
    case StepKind::kNorm:
      return RunNorm(plan, step);
    case StepKind::kGemm:
      return RunGemm(plan, step);
    case StepKind::kMatvec:
      return RunMatvec(plan, step);
    case StepKind::kGateUp:
      return RunGateUp(plan, step);
    case StepKind::kRopeKv:
      return RunRopeKv(plan, step);
    case StepKind::kAttention:
      return RunAttention(plan, step);
    case StepKind::kSwiglu:
      return RunSwiglu(plan, step);
    case StepKind::kLogits:
      return RunLogits(plan, step);
    case StepKind::kView:
      return Status::Ok();
    case StepKind::kScaleBias:
    case StepKind::kRope:
    case StepKind::kKvStore:
    case StepKind::kAdd:
    case StepKind::kRowsToF16:
    case StepKind::kQuantizeRows:
      return RunSmall(plan, step);
  }
  return Status(ErrorKind::kInternal, "no such step");
}

Status StepRunner::RunEmbed(const CudaPlan& plan, const CudaStep& step) {
  const CudaWeight& table = WeightOf(step.weight[0]);
  return Start(step.kernel, Moves(step, 1), [&] {
    return cuda::Embed(table.view.type, table.resident, step.columns, places_.tokens, step.rows,
                       At<float>(plan, step.out[0]), stream());
  });
}

Status StepRunner::RunNorm(const CudaPlan& plan, const CudaStep& step) {
  cuda::RmsNormArgs args;
  args.x = F32(plan, step.in[0]);
  args.add = F32(plan, step.in[1]);
  args.add_scale = F32(plan, step.in_scale);
  args.sum = At<float>(plan, step.out[1]);
  args.weight = static_cast<const float*>(WeightOf(step.weight[0]).resident);
  args.eps = model_.norm_epsilon;
  args.rows = step.rows;
  args.n = step.columns;
  args.y = At<float>(plan, step.out[0]);
  args.f16 = At<uint16_t>(plan, step.f16);
  args.f16_scale = At<float>(plan, step.f16_scale);
  args.chunks = At<ActivationChunk>(plan, step.chunks);
  return Start(step.kernel, Moves(step, CountOf(step.in) + CountOf(step.out)),
               [&] { return cuda::RmsNorm(args, stream()); });
}

Status StepRunner::RunGemm(const CudaPlan& plan, const CudaStep& step) {
  const CudaWeight& weight = WeightOf(step.weight[0]);
  const GemmShape shape = {step.f32 ? GemmType::kF32 : GemmType::kF16, step.rows, step.k,
                           step.columns};
  const void* x = step.f32 ? static_cast<const void*>(F32(plan, step.in[0]))
                           : At<const uint16_t>(plan, step.plane);
  const void* w = step.f32 ? weight.resident : weight.f16;
  if (w == nullptr) {
    return Status(ErrorKind::kInternal, step.kernel + ": the weight has no f16 form");
  }
  Count("gemm", context_.cublaslt().AlgorithmName(shape));
  const double rows = static_cast<double>(step.rows), k = static_cast<double>(step.k),
               out = static_cast<double>(step.columns);
  const LaunchWork work = {
      .operations = 2 * rows * k * out,
      .bytes = (rows + out) * k * (step.f32 ? kF32 : kF16) + rows * out * kF32};
  float* y = At<float>(plan, step.out[0]);
  if (context_.gates().settings().clear_outputs) {
    // A checker of initialized memory (compute-sanitizer's initcheck) does not see cuBLASLt's bulk
    // stores, and would take every reader of y for one of memory that nobody wrote.
    const size_t bytes = static_cast<size_t>(step.rows * step.columns) * sizeof(float);
    FG_RETURN_IF_ERROR(Check(cudaMemsetAsync(y, 0, bytes, stream()), "a GEMM's output"));
  }
  return Start(step.kernel, work,
               [&] { return context_.cublaslt().Run(shape, x, w, y, stream()); });
}

Status StepRunner::RunMatvec(const CudaPlan& plan, const CudaStep& step) {
  const int count = CountOf(step.weight);
  const int64_t chunks = step.k / kBlock32;
  return InSlices(step.rows, [&](int64_t first, int64_t rows) {
    cuda::MatvecArgs args[3];
    LaunchWork work;
    for (int i = 0; i < count; ++i) {
      const CudaWeight& weight = WeightOf(step.weight[i]);
      const int64_t out = weight.view.out;
      args[i] = {
          .type = weight.view.type, .w = weight.resident, .k = step.k, .out = out, .rows = rows};
      args[i].plane = Advance(At<const ActivationChunk>(plan, step.plane), first * chunks);
      args[i].x = Advance(At<const float>(plan, step.in[0]), first * step.k);
      args[i].bias = BiasOf(step.bias[i]);
      args[i].residual = Advance(At<const float>(plan, step.residual), first * out);
      args[i].y = Advance(At<float>(plan, step.out[i]), first * out);
      const double values = static_cast<double>(step.k) * static_cast<double>(out);
      work.operations += 2 * values * static_cast<double>(rows);
      work.bytes += static_cast<double>(cuda::ResidentRowBytes(weight.view.type, step.k) * out);
    }
    return Start(step.kernel, work, [&] {
      return count == 1 ? cuda::Matvec(args[0], stream())
                        : cuda::MatvecThree(args, count, stream());
    });
  });
}

Status StepRunner::RunGateUp(const CudaPlan& plan, const CudaStep& step) {
  const CudaWeight* weights[2] = {&WeightOf(step.weight[0]), &WeightOf(step.weight[1])};
  const int64_t out = step.columns, chunks = step.k / kBlock32;
  return InSlices(step.rows, [&](int64_t first, int64_t rows) {
    cuda::MatvecArgs args[2];
    for (int i = 0; i < 2; ++i) {
      args[i] = {.type = weights[i]->view.type,
                 .w = weights[i]->resident,
                 .k = step.k,
                 .out = out,
                 .rows = rows};
      args[i].plane = Advance(At<const ActivationChunk>(plan, step.plane), first * chunks);
      args[i].x = Advance(At<const float>(plan, step.in[0]), first * step.k);
    }
    const double row_bytes =
        static_cast<double>(cuda::ResidentRowBytes(weights[0]->view.type, step.k));
    const LaunchWork work = {
        .operations = 4 * static_cast<double>(step.k) * static_cast<double>(out * rows),
        .bytes = 2 * row_bytes * static_cast<double>(out)};
    return Start(step.kernel, work, [&] {
      return cuda::MatvecGateUp(
          args[0], args[1], Advance(At<float>(plan, step.out[0]), first * out),
          Advance(At<ActivationChunk>(plan, step.chunks), first * (out / kBlock32)), stream());
    });
  });
}

Status StepRunner::RunRopeKv(const CudaPlan& plan, const CudaStep& step) {
  const ModelShape& shape = model_.shape;
  cuda::RopeKvArgs args;
  args.q = F32(plan, step.in[0]);
  args.k = F32(plan, step.in[1]);
  args.v = F32(plan, step.in[2]);
  args.scale = F32(plan, step.in_scale);
  args.q_bias = BiasOf(step.bias[0]);
  args.k_bias = BiasOf(step.bias[1]);
  args.v_bias = BiasOf(step.bias[2]);
  args.positions = places_.positions;
  args.tables = model_.rope;
  args.rows = step.rows;
  args.heads = shape.heads;
  args.kv_heads = shape.kv_heads;
  args.head_dim = step.head_dim;
  args.q_out = At<float>(plan, step.out[0]);
  args.keys = places_.kv->keys(step.layer);
  args.values = places_.kv->values(step.layer);
  const double rows = static_cast<double>(step.rows);
  const LaunchWork work = {
      .operations = 0,
      .bytes = rows * (static_cast<double>(shape.query_width()) * 2 * kF32 +
                       static_cast<double>(shape.kv_width()) * 2 * (kF32 + kF16))};
  return Start(step.kernel, work, [&] { return cuda::RopeKv(args, stream()); });
}

double StepRunner::AttentionPairs() const {
  double pairs = 0;
  const int64_t rows = graph_.graph().params.rows;
  for (int64_t row = 0; row < rows; ++row) pairs += static_cast<double>(positions_[row]) + 1;
  return pairs;
}

Status StepRunner::RunAttention(const CudaPlan& plan, const CudaStep& step) {
  const ModelShape& shape = model_.shape;
  cuda::AttentionArgs args;
  args.q = F32(plan, step.in[0]);
  args.keys = places_.kv->keys(step.layer);
  args.values = places_.kv->values(step.layer);
  args.positions = places_.attention_positions;
  args.rows = step.rows;
  args.heads = shape.heads;
  args.kv_heads = shape.kv_heads;
  args.head_dim = step.head_dim;
  args.y = At<float>(plan, step.out[0]);
  args.chunks = At<ActivationChunk>(plan, step.chunks);
  args.scratch = places_.attention_scratch;
  if (step.many) {
    Count("attention.many",
          cuda::AttentionManyBest() == cuda::AttentionForm::kWgmma ? "wgmma" : "mma");
  }
  LaunchWork work;
  if (context_.timing()) {
    const double last = static_cast<double>(positions_[step.rows - 1]) + 1;
    work.operations = 4 * AttentionPairs() * static_cast<double>(shape.query_width());
    work.bytes = 2 * last * static_cast<double>(shape.kv_width()) * kF16 +
                 2 * static_cast<double>(step.rows * shape.query_width()) * kF32;
  }
  return Start(step.kernel, work, [&] {
    return step.many ? cuda::AttentionMany(args, stream())
                     : cuda::AttentionFew(args, bucket_, stream());
  });
}

Status StepRunner::RunSwiglu(const CudaPlan& plan, const CudaStep& step) {
  cuda::SwigluArgs args;
  args.g = F32(plan, step.in[0]);
  args.u = F32(plan, step.in[1]);
  args.scale = F32(plan, step.in_scale);
  args.rows = step.rows;
  args.n = step.columns;
  args.y = At<float>(plan, step.out[0]);
  args.f16 = At<uint16_t>(plan, step.f16);
  args.f16_scale = At<float>(plan, step.f16_scale);
  args.chunks = At<ActivationChunk>(plan, step.chunks);
  return Start(step.kernel, Moves(step, 2 + CountOf(step.out)),
               [&] { return cuda::Swiglu(args, stream()); });
}

Status StepRunner::RunSmall(const CudaPlan& plan, const CudaStep& step) {
  const float* a = F32(plan, step.in[0]);
  const float* b = F32(plan, step.in[1]);
  float* y = At<float>(plan, step.out[0]);
  const LaunchWork work =
      Moves(step, CountOf(step.in) + (step.kind == StepKind::kScaleBias ? 2 : CountOf(step.out)));
  return Start(step.kernel, work, [&]() -> cudaError_t {
    switch (step.kind) {
      case StepKind::kScaleBias:
        return cuda::ScaleBias(y, step.rows, step.columns, F32(plan, step.in_scale),
                               BiasOf(step.bias[0]), stream());
      case StepKind::kRope:
        return cuda::Rope(a, places_.positions, model_.rope, step.rows,
                          step.columns / step.head_dim, step.head_dim, y, stream());
      case StepKind::kKvStore:
        return cuda::KvStore(a, b, places_.positions, step.rows, step.columns,
                             places_.kv->keys(step.layer), places_.kv->values(step.layer),
                             stream());
      case StepKind::kAdd:
        return cuda::Add(a, b, step.rows * step.columns, y, stream());
      case StepKind::kRowsToF16:
        return cuda::RowsToF16(a, step.rows, step.columns, At<uint16_t>(plan, step.f16),
                               At<float>(plan, step.f16_scale), stream());
      case StepKind::kQuantizeRows:
        return cuda::QuantizeRows(a, step.rows, step.columns,
                                  At<ActivationChunk>(plan, step.chunks), stream());
      default:
        return cudaErrorInvalidValue;
    }
  });
}

Status StepRunner::RunLogitsFaults(const CudaStep& step, float* logits) {
  if (context_.Faulty(Fault::kRacingSum)) {
    FG_RETURN_IF_ERROR(Start("racing_sum", {}, [&] {
      return cuda::FaultyRacingScale(logits, step.rows, step.columns, places_.fault_scratch,
                                     stream());
    }));
  }
  if (context_.Faulty(Fault::kDeviceOverrun)) {
    // The last row of the array, so that what lies behind is no memory of ours.
    const float* last = places_.logits + (places_.logits_room - 1) * step.columns;
    return Start("device_overrun", {}, [&] {
      return cuda::FaultyOverrun(last, step.columns, places_.fault_scratch, stream());
    });
  }
  return Status::Ok();
}

Status StepRunner::RunLogits(const CudaPlan& plan, const CudaStep& step) {
  float* logits = At<float>(plan, step.in[0]);
  FG_RETURN_IF_ERROR(RunLogitsFaults(step, logits));
  if (places_.ids == nullptr) return Status::Ok();
  const LaunchWork work = {.operations = 0,
                           .bytes = static_cast<double>(step.rows * step.columns) * kF32};
  return Start(step.kernel, work, [&] {
    return cuda::Argmax(logits, step.rows, step.columns, places_.ids + step.logits_row,
                        places_.argmax_scratch, stream());
  });
}

Status StepRunner::Poison(const CudaPlan& plan, int step) {
  for (const StepBuffer& buffer : plan.buffers) {
    if (buffer.last != step || buffer.offset < 0) continue;
    FG_RETURN_IF_ERROR(Check(cudaMemsetAsync(places_.pool + buffer.offset, 0xFF,
                                             static_cast<size_t>(buffer.bytes), stream()),
                             "poison"));
  }
  return Status::Ok();
}

Status StepRunner::PoisonPool(uint64_t bytes) {
  return Check(cudaMemsetAsync(places_.pool, 0xFF, bytes, stream()), "poison");
}

}  // namespace fg
