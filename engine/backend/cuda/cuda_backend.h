// An NVIDIA GPU: weights resident, a plan of fused steps for each graph, one stream, steps that
// come again captured as CUDA graphs. docs/cuda.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cuda/cublaslt.h"
#include "engine/backend/cuda/cuda_capture.h"
#include "engine/backend/cuda/cuda_context.h"
#include "engine/backend/cuda/cuda_kv_cache.h"
#include "engine/backend/cuda/cuda_step_graph.h"
#include "engine/backend/cuda/cuda_step_runner.h"
#include "engine/backend/cuda/cuda_weights.h"
#include "engine/backend/cuda/device_buffer.h"
#include "engine/backend/cuda/pinned_buffer.h"

namespace fg {

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(std::unique_ptr<CudaContext> context)
      : context_(std::move(context)),
        captured_(std::make_shared<CapturedSteps>(kMostCapturedSteps)) {}
  ~CudaBackend() override;

  Status LoadModel(const Hyperparameters& model, const ModelWeights& weights,
                   const BackendOptions& options) override;
  Result<std::unique_ptr<ExecutableGraph>> Prepare(Graph graph) override;
  Result<std::unique_ptr<KvCache>> NewKvCache() override;
  const LoadReport& load_report() const override { return report_; }
  void Observe(NodeObserver* observer) override { observer_ = observer; }
  // kDevice is final: every later call returns it.
  Status Execute(const ExecutableGraph& graph, const ForwardInputs& inputs) override;
  std::optional<DeviceMemory> device_memory() const override;
  bool TimeKernels(bool on) override;
  std::vector<KernelTime> TakeKernelTimes() override { return context_->TakeKernelTimes(); }

  size_t captured_steps() const { return captured_->size(); }  // kept keys, captured or not

 private:
  struct Run;  // one execution: cuda_execute.cc

  // Arrays that grow with the largest graph that was prepared.
  struct Room {
    DeviceBuffer pool, logits, inputs, ids, attention, argmax, faults;
    PinnedBuffer host_inputs, host_logits, host_ids;
    int64_t rows = 0, wanted = 0, logits_rows = 0;
  };

  void Describe(const ModelWeights& weights);
  Status LoadRope();
  Status MakeRoom(const CudaPlan& plan, const GraphParams& params);
  Status Grow(DeviceBuffer* buffer, int64_t bytes, const char* what, bool zeroed);
  Status GrowPinned(PinnedBuffer* buffer, int64_t bytes, const char* what);
  Status GrowInputs(const CudaPlan& plan, const GraphParams& params);
  Status PrepareGemms(const CudaPlan& plan);
  CudaPlan PlanOf(const Graph& graph, bool fused) const;
  Status PlanRoom(const GraphParams& params);
  Result<const CudaWeight*> FindWeight(const std::string& name) const;

  Run StartRun(const CudaGraph& graph, const ForwardInputs& inputs);
  void FillInputs(const Run& run);
  void SetPlaces(Run* run);
  StepKey KeyOf(const Run& run) const;
  bool MayCapture(const Run& run) const;
  Status RunSteps(const Run& run, StepRunner* runner);
  Status CopyInputs(const Run& run, StepRunner* runner);
  Status CopyLogits(const Run& run, const CudaStep& step, StepRunner* runner);
  Status CopyIds(const Run& run, StepRunner* runner);
  Status ExecuteEager(const Run& run);
  Status ExecuteKept(const Run& run);
  void TakeDown(const Run& run, CapturedStep* step);
  Status Replay(const Run& run, const CapturedStep& step);
  Status ExecuteObserved(Run* run);
  Status ObserveNodes(const Run& run, const CudaPlan& plan);
  Status AfterNode(const Run& run, const CudaPlan& plan, int node, const std::string& label,
                   double seconds, StepRunner* runner);
  Status TakeResults(const Run& run);

  std::unique_ptr<CudaContext> context_;
  std::shared_ptr<CapturedSteps> captured_;  // KV caches hold it weakly
  NodeObserver* observer_ = nullptr;
  Hyperparameters model_;
  BackendOptions options_;
  LoadReport report_;
  CudaWeights weights_;
  StepModel step_model_;
  DeviceBuffer rope_;
  DeviceBuffer unbooked_;  // kUnbookedMemory
  Room room_;
  uint64_t used_before_ = 0, booked_workspace_ = 0;
  int64_t forwards_ = 0;  // executions, for the observer
  std::vector<float> observed_;
};

// kDevice when no stream can be made. All outlive the backend.
Result<std::unique_ptr<Backend>> NewCudaBackend(const Gates& gates, Ledger* ledger,
                                                MemoryBook* memory, const DeviceInfo& info,
                                                CublasLt* cublaslt);

}  // namespace fg
