// What runs graphs: takes a model's weights once, prepares graphs, executes them over a KV cache.
// The CPU's is engine/backend/cpu; another device's would stand behind the same interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
      nullptr;            // [rows], in [0, context); the cache holds all positions below
  KvCache* kv = nullptr;  // made by the same backend
  float* logits =
      nullptr;  // [wanted][vocabulary]; may be null when nothing is wanted, or argmax is
  int32_t* argmax = nullptr;     // [wanted] or null: the ids of the highest logits as Greedy finds
                                 // them, -1 where all are NaN
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

// What the device's driver says, bytes.
struct DeviceMemory {
  uint64_t total = 0, used = 0;  // now; by all processes
  uint64_t used_before = 0;      // before the model was loaded
};

// Time of one kernel over the forwards that were timed.
struct KernelTime {
  std::string
      kernel;  // as the ledger and errors call it: "attention.many", "gemm.f16.q4_K 18944x3584"
  uint64_t launches = 0;
  double seconds = 0;
  double operations = 0,
         bytes = 0;  // that the kernel has to do and to move; 0 where it does not say
};

// Not for concurrent use.
class Backend {
 public:
  virtual ~Backend() = default;

  // Once, before anything else. The views of `weights` point into memory that outlives a backend
  // of the CPU; every other one copies what it needs, for the file is let go after the load.
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

  // Nothing for a backend whose memory is the process's own.
  virtual std::optional<DeviceMemory> device_memory() const { return std::nullopt; }
  // While on, each launch is timed by events and nothing is captured. False where a backend cannot.
  virtual bool TimeKernels(bool /*on*/) { return false; }
  // Since TimeKernels(true) or the last call, the longest first.
  virtual std::vector<KernelTime> TakeKernelTimes() { return {}; }
};

}  // namespace fg
