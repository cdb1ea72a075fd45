// The CPU: nodes in build order, each shared out to threads, on buffers of one pool.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_context.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/host_buffer.h"
#include "engine/backend/cpu/weight_registration.h"
#include "engine/graph/buffer_plan.h"

namespace fg {

class CpuBackend : public Backend {
 public:
  // All three outlive the backend and what it makes.
  CpuBackend(const Gates& gates, Ledger* ledger, MemoryBook* memory)
      : context_(gates, ledger, memory) {}

  Status LoadModel(const Hyperparameters& model, const ModelWeights& weights,
                   const BackendOptions& options) override;
  Result<std::unique_ptr<ExecutableGraph>> Prepare(Graph graph) override;
  Result<std::unique_ptr<KvCache>> NewKvCache() override;
  const LoadReport& load_report() const override { return report_; }
  void Observe(NodeObserver* observer) override { observer_ = observer; }
  Status Execute(const ExecutableGraph& graph, const ForwardInputs& inputs) override;

 private:
  struct Run;  // one execution: cpu_execute.cc
  Status ExecuteLogits(const ExecutableGraph& graph, const ForwardInputs& inputs);

  bool NibbleFamilyOnly(const ModelWeights& weights) const;
  Status RegisterWeights(const ModelWeights& weights);
  void DecideFuseMode();
  Status ReservePlanes(const ModelWeights& weights);
  Status ReservePool(int64_t bytes);
  Result<const CpuWeight*> FindWeight(const std::string& name) const;

  Status CheckViolation(const Run& run) const;
  Status ShareSources(Run* run);
  Status RunNodes(const Run& run);
  Status RunObserved(const Run& run, int index);
  Status RunNode(const Run& run, int index);
  int FusedMode(const Run& run, int index);
  Status RunProducer(const Run& run, int index);
  Status RunAttentionNode(const Run& run, const Node& node, const float* q, float* y);
  void PoisonDead(const Run& run, int index);

  CpuContext context_;
  NodeObserver* observer_ = nullptr;
  Hyperparameters model_;
  BackendOptions options_;
  LoadReport report_;
  std::map<std::string, RegisteredWeight> weights_;
  RopeTable rope_;
  HostBuffer pool_;
  HostBuffer logits_;                // of a forward whose caller wants their argmax alone
  int64_t forwards_ = 0;             // executions, for the observer
  std::vector<std::byte> unbooked_;  // kUnbookedMemory
};

}  // namespace fg
