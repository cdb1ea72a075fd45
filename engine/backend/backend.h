// What runs graphs: takes a model's weights once, prepares graphs, executes them over a KV cache.
// The CPU's is engine/backend/cpu; another device's would stand behind the same interface.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "engine/backend/load_report.h"
#include "engine/backend/node_observer.h"
#include "engine/backend/violation.h"
#include "engine/graph/graph.h"
#include "engine/model/hyperparameters.h"
#include "engine/model/weights.h"
#include "engine/phase.h"

namespace fg {

// A forward's phase by its rows.
constexpr Phase PhaseOfRows(int64_t rows) {
  return rows >= kPrefillRows ? Phase::kPrefill : Phase::kDecode;
}

// Keys and values of one session, f16, [layer][position][kv_heads][head_dim] each. Booked while
// alive.
class KvCache {
 public:
  virtual ~KvCache() = default;
};

// A graph with its tensors found and its memory laid out. Booked (kGraph) while alive.
class ExecutableGraph {
 public:
  virtual ~ExecutableGraph() = default;
  virtual const Graph& graph() const = 0;
};

// What changes from run to run of one graph.
struct ForwardInputs {
  const int32_t* tokens = nullptr;  // [rows], in [0, vocabulary)
  const int32_t* positions =
      nullptr;                   // [rows], in [0, context); the cache holds all positions below
  KvCache* kv = nullptr;         // made by the same backend
  float* logits = nullptr;       // [wanted][vocabulary]; may be null when nothing is wanted
  Phase phase = Phase::kDecode;  // kPrefill or kDecode
  Violation violation = Violation::kNone;
  bool kv_row_off = false;  // planted: Fault::kKvRowOff
};

struct BackendOptions {
  int64_t context = 0;  // positions of a KV cache
  int64_t batch = 0;    // most rows of one forward
  // For tests: fills the pool with NaN before each run, and each buffer again after its last use,
  // so that a read of what nobody wrote, or of what is dead, shows in the logits.
  bool poison = false;
};

// Not for concurrent use.
class Backend {
 public:
  virtual ~Backend() = default;

  // Once, before anything else. The views of `weights` point into memory that outlives the backend.
  // Takes the memory of the largest forward. kBadModel names a weight that cannot be prepared;
  // kOutOfMemory.
  virtual Status LoadModel(const Hyperparameters& model, const ModelWeights& weights,
                           const BackendOptions& options) = 0;

  virtual const LoadReport& load_report() const = 0;

  // kOutOfMemory; kInternal for a tensor that the model does not have.
  virtual Result<std::unique_ptr<ExecutableGraph>> Prepare(Graph graph) = 0;
  virtual Result<std::unique_ptr<KvCache>> NewKvCache() = 0;  // kOutOfMemory

  // Calls `observer` (which outlives the backend) from every execution on; null for none. Whether
  // values are there to see is settled at load: an observer that reads them comes with a reader's
  // setting, and that keeps mode 2 of FG_MMQ_A_FUSE off.
  virtual void Observe(NodeObserver* observer) = 0;

  // After a failure the KV cache's contents at these positions are undefined. kRefused names the
  // node at which a promise of the prefill was broken, and stands in the ledger; kBadRequest for a
  // violation that could not arise.
  virtual Status Execute(const ExecutableGraph& graph, const ForwardInputs& inputs) = 0;
};

}  // namespace fg
