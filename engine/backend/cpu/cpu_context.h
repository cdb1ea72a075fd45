// What the CPU's operations share: gates, ledger, threads, faults, and the activation planes.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/activation_planes.h"
#include "engine/backend/cpu/host_buffer.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/memory_book.h"
#include "engine/phase.h"
#include "kernels/cpu/cpu_level.h"
#include "kernels/cpu/range.h"
#include "kernels/kernel_fault.h"

namespace fg {

// How many items, in multiples of `multiple`, a thread takes at least, so that its share outweighs
// the wake-up: one item is `work` multiplications or the like. Small operations stay on one thread.
// No bit depends on it.
constexpr int64_t GrainFor(int64_t work, int64_t multiple = 1) {
  constexpr int64_t kShareWork = int64_t{1} << 19;
  const int64_t items = (kShareWork + work - 1) / work;
  return (items + multiple - 1) / multiple * multiple;
}

// One per engine (or per probe that runs operations without a model). Not for concurrent use: an
// operation shares itself out to threads, callers do not.
class CpuContext {
 public:
  // All three outlive the context.
  CpuContext(const Gates& gates, Ledger* ledger, MemoryBook* memory);

  const Gates& gates() const { return gates_; }
  Ledger& ledger() { return *ledger_; }
  MemoryBook* memory() { return memory_; }
  CpuLevel level() const { return level_; }
  ActivationPlanes& planes() { return planes_; }

  bool Faulty(Fault fault) const { return gates_.faults().Active(fault); }
  // The planted fault of the quantizer, wherever it runs.
  KernelFault quantizer_fault() const { return quantizer_fault_; }
  // Of the tile quantizer and the producers that end in it.
  KernelFault tile_quantizer_fault() const {
    return Faulty(Fault::kTailRowsDirty) ? KernelFault::kDirtyTail : quantizer_fault_;
  }
  // kDefaultMovesMore, and no gate's variable is set.
  bool default_moves_more() const { return default_moves_more_; }

  void CountDispatch(Phase phase, const char* op, const std::string& label) {
    ledger_->CountDispatch(phase, op, label);
    last_label_ = label;
  }
  // The making of an activation plane: no operation of its own in the graph.
  void CountPrepass(Phase phase, PlaneLayout layout) {
    ledger_->CountDispatch(phase, "prepass", std::string("prepass.") + PlaneLayoutName(layout));
  }
  const std::string& last_label() const { return last_label_; }  // of CountDispatch
  // What the forward that runs breaks on purpose.
  Violation violation() const { return violation_; }
  void set_violation(Violation violation) { violation_ = violation; }

  void CountPlane(bool hit) { ledger_->CountPlane(hit); }

  // Calls body(range, thread) with shares of [0, total) in multiples of `grain`, on up to the set
  // number of threads, and counts one launch. What body computes for an index must depend on that
  // index alone.
  template <typename Body>
  void Parallel(Phase phase, int64_t total, int64_t grain, const Body& body) {
    ledger_->CountLaunch(phase);
    const int64_t units = (total + grain - 1) / grain;
    const int parts = static_cast<int>(std::min<int64_t>(threads_, units));
    if (parts <= 1) {
      body(Range{0, total}, 0);
      return;
    }
#pragma omp parallel num_threads(parts)
    {
      // The runtime may give fewer threads than asked for; the shares are cut by what it gave.
      const int thread = omp_get_thread_num();
      body(Share(total, thread, omp_get_num_threads(), grain), thread);
    }
  }

  // Scores of attention, `floats` (AttentionScratch) for each thread. kOutOfMemory.
  Status ReserveScores(int64_t floats);
  float* scores(int thread) { return scores_.as<float>() + thread * scores_stride_; }

 private:
  const Gates& gates_;
  Ledger* ledger_;
  MemoryBook* memory_;
  CpuLevel level_;
  int threads_;
  KernelFault quantizer_fault_;
  bool default_moves_more_;
  ActivationPlanes planes_;
  HostBuffer scores_;
  int64_t scores_stride_ = 0;
  std::string last_label_;
  Violation violation_ = Violation::kNone;
};

}  // namespace fg
