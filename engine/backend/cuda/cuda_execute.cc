// Running a prepared graph: its steps one by one, or as the one captured step that they became, or
// node by node before an observer's eyes.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "engine/backend/cuda/cuda_backend.h"
#include "kernels/cuda/attention.h"

namespace fg {

struct CudaBackend::Run {
  const CudaGraph& graph;
  const ForwardInputs& inputs;
  const CudaPlan* plan;
  StepPlaces places = {};
  int64_t bucket = 0;

  const GraphParams& params() const { return graph.graph().params; }
  bool wants_ids() const { return inputs.argmax != nullptr && params().wanted > 0; }
  // Logits of several slices pass through the one array, and each is copied as it comes.
  bool slices() const { return inputs.logits != nullptr && params().wanted > plan->logits_rows; }
};

namespace {

Status CheckViolation(const ForwardInputs& inputs) {
  if (inputs.violation == Violation::kNone) return Status::Ok();
  const bool dead = inputs.violation == Violation::kDeadWrite;
  return Status(ErrorKind::kBadRequest,
                std::string("the violation ") + (dead ? "dead_write" : "stale_plane") +
                    " cannot arise: it needs the int8 prefill family, which the CUDA backend does "
                    "not have");
}

}  // namespace

void CudaBackend::SetPlaces(Run* run) {
  const int64_t rows = run->params().rows;
  const int32_t* inputs = room_.inputs.as<int32_t>();
  StepPlaces& places = run->places;
  places.pool = room_.pool.as<std::byte>();
  places.logits = room_.logits.as<float>();
  places.tokens = inputs;
  places.positions = inputs + rows;
  places.attention_positions = inputs + 2 * rows;
  places.ids = run->wants_ids() ? room_.ids.as<int32_t>() : nullptr;
  places.attention_scratch = room_.attention.data();
  places.argmax_scratch = room_.argmax.data();
  places.fault_scratch = room_.faults.as<float>();
  places.logits_room = room_.logits_rows;
}

CudaBackend::Run CudaBackend::StartRun(const CudaGraph& graph, const ForwardInputs& inputs) {
  Run run = {graph, inputs, &graph.plan()};
  if (run.plan->buckets) {
    run.bucket = cuda::AttentionBucket(int64_t{inputs.positions[run.params().rows - 1]} + 1);
  }
  SetPlaces(&run);
  run.places.kv = static_cast<CudaKvCache*>(inputs.kv);
  return run;
}

void CudaBackend::FillInputs(const Run& run) {
  const int64_t rows = run.params().rows;
  int32_t* host = room_.host_inputs.as<int32_t>();
  std::copy_n(run.inputs.tokens, rows, host);
  std::copy_n(run.inputs.positions, rows, host + rows);
  const int32_t off = run.inputs.kv_row_off ? 1 : 0;
  for (int64_t row = 0; row < rows; ++row) {
    host[2 * rows + row] = std::max(run.inputs.positions[row] - off, 0);
  }
}

Status CudaBackend::CopyInputs(const Run& run, StepRunner* runner) {
  const size_t bytes = static_cast<size_t>(3 * run.params().rows) * sizeof(int32_t);
  return runner->Check(cudaMemcpyAsync(room_.inputs.data(), room_.host_inputs.data(), bytes,
                                       cudaMemcpyHostToDevice, context_->stream()),
                       "tokens and positions");
}

Status CudaBackend::CopyIds(const Run& run, StepRunner* runner) {
  if (!run.wants_ids()) return Status::Ok();
  const size_t bytes = static_cast<size_t>(run.params().wanted) * sizeof(int32_t);
  return runner->Check(cudaMemcpyAsync(room_.host_ids.data(), room_.ids.data(), bytes,
                                       cudaMemcpyDeviceToHost, context_->stream()),
                       "the highest ids");
}

// A slice of logits, before the next one takes its place.
Status CudaBackend::CopyLogits(const Run& run, const CudaStep& step, StepRunner* runner) {
  if (step.kind != StepKind::kLogits || !run.slices()) return Status::Ok();
  const size_t bytes = static_cast<size_t>(step.rows * step.columns) * sizeof(float);
  return runner->Check(
      cudaMemcpyAsync(run.inputs.logits + step.logits_row * step.columns, room_.logits.data(),
                      bytes, cudaMemcpyDeviceToHost, context_->stream()),
      "logits");
}

Status CudaBackend::RunSteps(const Run& run, StepRunner* runner) {
  const CudaPlan& plan = *run.plan;
  FG_RETURN_IF_ERROR(CopyInputs(run, runner));
  if (options_.poison) FG_RETURN_IF_ERROR(runner->PoisonPool(room_.pool.bytes()));
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    FG_RETURN_IF_ERROR(runner->Run(plan, plan.steps[at]));
    FG_RETURN_IF_ERROR(CopyLogits(run, plan.steps[at], runner));
    if (options_.poison) FG_RETURN_IF_ERROR(runner->Poison(plan, static_cast<int>(at)));
  }
  return CopyIds(run, runner);
}

Status CudaBackend::ExecuteEager(const Run& run) {
  StepRunner runner(context_.get(), run.graph, step_model_, run.places, run.inputs.positions,
                    run.inputs.phase, run.bucket, nullptr);
  return RunSteps(run, &runner);
}

// --- Captured steps -----------------------------------------------------------------------------

StepKey CudaBackend::KeyOf(const Run& run) const {
  StepKey key;
  key.graph = run.graph.graph().identity;
  key.argmax = run.wants_ids();
  key.kv_row_off = run.inputs.kv_row_off;
  key.bucket = run.bucket;
  key.addresses = {run.places.kv->address(), room_.pool.data(),   room_.logits.data(),
                   room_.inputs.data(),      room_.ids.data(),    room_.attention.data(),
                   room_.argmax.data(),      room_.faults.data(), room_.host_inputs.data(),
                   room_.host_ids.data()};
  return key;
}

bool CudaBackend::MayCapture(const Run& run) const {
  return context_->gates().settings().capture && !context_->sync_launch() && !context_->timing() &&
         !run.slices();
}

void CudaBackend::TakeDown(const Run& run, CapturedStep* step) {
  StepRunner runner(context_.get(), run.graph, step_model_, run.places, run.inputs.positions,
                    run.inputs.phase, run.bucket, &step->counts);
  context_->set_capturing(true);
  const Status status =
      step->Capture(context_->stream(), context_->memory(), [&] { return RunSteps(run, &runner); });
  context_->set_capturing(false);
  if (status.ok()) {
    const int64_t rows = run.params().rows;
    step->positions.assign(run.inputs.positions, run.inputs.positions + rows);
    context_->ledger().CountCapture();
    return;
  }
  step->failed = true;
  context_->ledger().AddDegradation(
      {"FG_CAPTURE=1", "FG_CAPTURE=0", "capture: " + status.message()});
}

Status CudaBackend::Replay(const Run& run, const CapturedStep& step) {
  if (context_->Faulty(Fault::kStaleReplay)) {
    const size_t rows = step.positions.size();
    int32_t* host = room_.host_inputs.as<int32_t>();
    std::copy_n(step.positions.data(), rows, host + rows);
    std::copy_n(step.positions.data(), rows, host + 2 * rows);
  }
  FG_RETURN_IF_ERROR(context_->Check(cudaGraphLaunch(step.exec(), context_->stream()),
                                     "a captured step, set FG_SYNC_LAUNCH=1 to learn its kernel"));
  // Counted while the device works.
  Ledger& ledger = context_->ledger();
  ledger.CountReplay();
  for (const auto& [label, count] : step.counts.labels) {
    for (uint64_t i = 0; i < count; ++i) {
      ledger.CountDispatch(run.inputs.phase, label.first, label.second);
    }
  }
  for (uint64_t i = 0; i < step.counts.launches; ++i) ledger.CountLaunch(run.inputs.phase);
  return Status::Ok();
}

// The first run of a key is eager, which also loads the kernels; from the second on the step that
// was taken down runs.
Status CudaBackend::ExecuteKept(const Run& run) {
  CapturedStep& step = captured_->Use(KeyOf(run));
  ++step.runs;
  if (step.runs >= 2 && !step.captured() && !step.failed) TakeDown(run, &step);
  if (step.captured()) return Replay(run, step);
  if (step.failed) context_->CountDispatch(run.inputs.phase, "capture", "eager!");
  return ExecuteEager(run);
}

// --- Observers
// ------------------------------------------------------------------------------------

Status CudaBackend::AfterNode(const Run& run, const CudaPlan& plan, int index,
                              const std::string& label, double seconds, StepRunner* runner) {
  const Node& node = run.graph.graph().nodes[static_cast<size_t>(index)];
  NodeRun seen = {
      .index = index, .node = node, .values = nullptr, .label = label, .seconds = seconds};
  if (node.columns > 0) {
    observed_.resize(static_cast<size_t>(node.rows * node.columns));
    const float* values = runner->F32(plan, plan.node_f32[static_cast<size_t>(index)]);
    FG_RETURN_IF_ERROR(
        context_->Check(cudaMemcpyAsync(observed_.data(), values, observed_.size() * sizeof(float),
                                        cudaMemcpyDeviceToHost, context_->stream()),
                        "a node's output"));
    FG_RETURN_IF_ERROR(context_->Wait("a node's output"));
    seen.values = observed_.data();
  }
  return observer_->AfterNode(seen);
}

Status CudaBackend::ObserveNodes(const Run& run, const CudaPlan& plan) {
  StepRunner runner(context_.get(), run.graph, step_model_, run.places, run.inputs.positions,
                    run.inputs.phase, run.bucket, nullptr);
  FG_RETURN_IF_ERROR(CopyInputs(run, &runner));
  if (options_.poison) FG_RETURN_IF_ERROR(runner.PoisonPool(room_.pool.bytes()));
  auto start = std::chrono::steady_clock::now();
  std::string label;
  for (size_t at = 0; at < plan.steps.size(); ++at) {
    const CudaStep& step = plan.steps[at];
    FG_RETURN_IF_ERROR(runner.Run(plan, step));
    FG_RETURN_IF_ERROR(CopyLogits(run, step, &runner));
    const Node& node = run.graph.graph().nodes[static_cast<size_t>(step.owner)];
    for (const StepLabel& each : step.labels) {
      if (each.op == GraphOpName(node.op)) label = each.label;
    }
    if (at + 1 == plan.steps.size() || plan.steps[at + 1].owner != step.owner) {
      FG_RETURN_IF_ERROR(context_->Wait(step.kernel.c_str()));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      FG_RETURN_IF_ERROR(AfterNode(run, plan, step.owner, label, took.count(), &runner));
      start = std::chrono::steady_clock::now();
    }
    if (options_.poison) FG_RETURN_IF_ERROR(runner.Poison(plan, static_cast<int>(at)));
  }
  return CopyIds(run, &runner);
}

Status CudaBackend::ExecuteObserved(Run* run) {
  std::optional<CudaPlan>& unfused = run->graph.unfused();
  if (!unfused) {
    CudaPlan plan = PlanOf(run->graph.graph(), false);
    FG_RETURN_IF_ERROR(MakeRoom(plan, run->params()));
    FG_RETURN_IF_ERROR(PrepareGemms(plan));
    unfused = std::move(plan);
    FillInputs(*run);  // the arrays may have moved
  }
  run->plan = &*unfused;
  SetPlaces(run);
  FG_RETURN_IF_ERROR(observer_->BeginForward(forwards_ - 1, run->graph.graph(), run->inputs.phase));
  FG_RETURN_IF_ERROR(ObserveNodes(*run, *unfused));
  return observer_->EndForward();
}

// --- A forward
// ------------------------------------------------------------------------------------

Status CudaBackend::TakeResults(const Run& run) {
  const int64_t wanted = run.params().wanted, vocabulary = model_.shape.vocabulary;
  const size_t bytes = static_cast<size_t>(wanted * vocabulary) * sizeof(float);
  const bool copy = run.inputs.logits != nullptr && wanted > 0 && !run.slices();
  if (copy) {
    FG_RETURN_IF_ERROR(
        context_->Check(cudaMemcpyAsync(room_.host_logits.data(), room_.logits.data(), bytes,
                                        cudaMemcpyDeviceToHost, context_->stream()),
                        "logits"));
  }
  FG_RETURN_IF_ERROR(context_->Wait("a forward"));
  if (copy) std::memcpy(run.inputs.logits, room_.host_logits.data(), bytes);
  if (run.wants_ids()) std::copy_n(room_.host_ids.as<int32_t>(), wanted, run.inputs.argmax);
  const bool faulty = context_->Faulty(Fault::kNanLogits) && run.inputs.phase == Phase::kPrefill;
  if (!faulty || run.inputs.logits == nullptr) return Status::Ok();
  for (int64_t row = 0; row < wanted; ++row) {
    run.inputs.logits[row * vocabulary] = std::numeric_limits<float>::quiet_NaN();
  }
  return Status::Ok();
}

Status CudaBackend::Execute(const ExecutableGraph& graph, const ForwardInputs& inputs) {
  FG_RETURN_IF_ERROR(context_->device_error());
  FG_RETURN_IF_ERROR(CheckViolation(inputs));
  Run run = StartRun(static_cast<const CudaGraph&>(graph), inputs);
  FillInputs(run);
  ++forwards_;
  if (inputs.phase == Phase::kDecode && context_->Faulty(Fault::kGateReadInDecode)) {
    (void)context_->gates().On(Gate::kMmq, inputs.phase);
  }
  const Status ran = observer_ != nullptr ? ExecuteObserved(&run)
                     : MayCapture(run)    ? ExecuteKept(run)
                                          : ExecuteEager(run);
  if (ran.ok()) return TakeResults(run);
  // What was started still reads the arrays that the next forward fills.
  (void)context_->Wait("a forward that failed");
  return ran;
}

}  // namespace fg
