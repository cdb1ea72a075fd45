// Runs the steps of a plan: looks addresses up, fills the kernels' arguments, counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/backend/cuda/cublaslt.h"
#include "engine/backend/cuda/cuda_capture.h"
#include "engine/backend/cuda/cuda_context.h"
#include "engine/backend/cuda/cuda_kv_cache.h"
#include "engine/backend/cuda/cuda_step_graph.h"
#include "kernels/cuda/rope_kv.h"

namespace fg {

// Where a forward's arrays lie on the device.
struct StepPlaces {
  std::byte* pool = nullptr;
  float* logits = nullptr;                       // [logits_rows][vocabulary]
  const int32_t* tokens = nullptr;               // [rows]
  const int32_t* positions = nullptr;            // [rows]
  const int32_t* attention_positions = nullptr;  // the same, but for a planted fault
  int32_t* ids = nullptr;                        // [wanted]; null where they are not asked for
  void* attention_scratch = nullptr;
  void* argmax_scratch = nullptr;
  float* fault_scratch = nullptr;  // [logits_rows] of kRacingSum, kDeviceOverrun
  int64_t logits_room = 0;         // rows that `logits` has room for
  CudaKvCache* kv = nullptr;
};

// What of a model the steps need.
struct StepModel {
  ModelShape shape;
  float norm_epsilon = 0;
  cuda::RopeTables rope;
};

class StepRunner {
 public:
  // All outlive the runner. With `counts` the step is being captured: launches and labels go there
  // and not to the ledger, and an error is not final. `positions` are the host's.
  StepRunner(CudaContext* context, const CudaGraph& graph, const StepModel& model,
             const StepPlaces& places, const int32_t* positions, Phase phase, int64_t bucket,
             StepCounts* counts)
      : context_(*context),
        graph_(graph),
        model_(model),
        places_(places),
        positions_(positions),
        phase_(phase),
        bucket_(bucket),
        counts_(counts) {}

  Status Run(const CudaPlan& plan, const CudaStep& step);
  // Fills buffers whose last step this was with NaN.
  Status Poison(const CudaPlan& plan, int step);
  // Every byte of the pool 0xFF.
  Status PoisonPool(uint64_t bytes);
  // An asynchronous copy or fill; counted nowhere.
  Status Check(cudaError_t error, const char* site);

  const float* F32(const CudaPlan& plan, const Operand& operand) const {
    return At<float>(plan, operand);
  }

 private:
  template <typename T>
  T* At(const CudaPlan& plan, const Operand& operand) const {
    if (!operand) return nullptr;
    const StepBuffer& buffer = plan.buffers[static_cast<size_t>(operand.buffer)];
    std::byte* base =
        buffer.logits ? reinterpret_cast<std::byte*>(places_.logits) : places_.pool + buffer.offset;
    return reinterpret_cast<T*>(base + operand.offset);
  }
  template <typename Launch>
  Status Start(const std::string& kernel, LaunchWork work, const Launch& launch) {
    if (counts_ == nullptr) return context_.Run(phase_, kernel.c_str(), launch, work);
    ++counts_->launches;
    return Check(launch(), kernel.c_str());
  }

  void Count(const std::string& op, const std::string& label);
  const CudaWeight& WeightOf(int node) const { return *graph_.weights(node).weight; }
  const float* BiasOf(int node) const { return node < 0 ? nullptr : graph_.weights(node).bias; }
  double AttentionPairs() const;  // (row, position) pairs that attention meets

  Status RunStep(const CudaPlan& plan, const CudaStep& step);
  Status RunEmbed(const CudaPlan& plan, const CudaStep& step);
  Status RunNorm(const CudaPlan& plan, const CudaStep& step);
  Status RunGemm(const CudaPlan& plan, const CudaStep& step);
  Status RunMatvec(const CudaPlan& plan, const CudaStep& step);
  Status RunGateUp(const CudaPlan& plan, const CudaStep& step);
  Status RunRopeKv(const CudaPlan& plan, const CudaStep& step);
  Status RunAttention(const CudaPlan& plan, const CudaStep& step);
  Status RunSwiglu(const CudaPlan& plan, const CudaStep& step);
  Status RunSmall(const CudaPlan& plan, const CudaStep& step);
  Status RunLogits(const CudaPlan& plan, const CudaStep& step);
  Status RunLogitsFaults(const CudaStep& step, float* logits);
  cudaStream_t stream() const { return context_.stream(); }

  CudaContext& context_;
  const CudaGraph& graph_;
  const StepModel& model_;
  const StepPlaces& places_;
  const int32_t* positions_;
  Phase phase_;
  int64_t bucket_;
  StepCounts* counts_;
};

}  // namespace fg
