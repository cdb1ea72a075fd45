// Planted defects: named, inert without FG_FAULT, present in every build of the recipe, so that
// what ships is what is proven. Which kinds of evidence must catch which: docs/faults.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fg {

enum class Fault {
  kNone,
  kNibblesSwapped,     // "nibbles_swapped": kernel, nibble form
  kMinDropped,         // "min_dropped": kernel, nibble form
  kRawTailSkipped,     // "raw_tail_skipped": kernel, raw form: one combination wrong
  kCoarseActivations,  // "coarse_activations": quantizer keeps 4 bits, everywhere
  kDeadFastPath,       // "dead_fast_path": RAW_NB on runs the generic kernel, label with '!'
  kOptOutIgnored,      // "optout_ignored": FG_MMQ_RAW_NB=0 still runs the nibble kernel
  kGateReadInDecode,   // "gate_read_in_decode": the one-row path asks FG_MMQ
  kCacheLeaked,       // "cache_leaked": the f16 cache is built (and booked) although MMQ serves the
                      // weight
  kUnbookedMemory,    // "unbooked_memory": 64 MiB touched at load and booked nowhere
  kDefaultMovesMore,  // "default_moves_more": with no gate variable set, prefill also coarsens
                      // the outputs of norms
  kNanLogits,         // "nan_logits": one logit of every prefill step is NaN
  kCrash,             // "crash": the process dies by SIGSEGV in the third forward
  // What each does stands in AllFaults.
  kChunkOffPlane,        // "chunk_off_plane"
  kQ6kScalesSwapped,     // "q6k_scales_swapped"
  kScalesRounded,        // "scales_rounded"
  kTailRowsDirty,        // "tail_rows_dirty"
  kWeightMixIgnored,     // "weight_mix_ignored"
  kWeightMixBlindToF16,  // "weight_mix_blind_to_f16"
  kSkipWriteWrites,      // "skip_write_writes"
  kFuseDead,             // "fuse_dead"
  kPlaneForTail,         // "plane_for_tail"
  kKvRowOff,             // "kv_row_off"
  kGateInGraph,          // "gate_in_graph"
  kDumpReadsSkipped,     // "dump_reads_skipped"
  kStalePlaneHit,        // "stale_plane_hit"
  kDeadWriteRead,        // "dead_write_read"
  kQ6kCoarse,            // "q6k_coarse"
  kOptOutQ6kIgnored,     // "optout_q6k_ignored"
  kThreadSum,            // "thread_sum"
  kStaleReplay,          // "stale_replay"
  kRacingSum,            // "racing_sum"
  kDeviceOverrun,        // "device_overrun"
};

struct FaultInfo {
  Fault fault;
  const char* name;
  const char* description;
  std::vector<std::string> kinds;  // kinds of evidence that must catch it
  const char* device = "cpu";      // where it acts: "any", "cpu", "cuda"
};

const std::vector<FaultInfo>& AllFaults();

// The faults active in this process (FG_FAULT names one).
class Faults {
 public:
  // kUsage for an unknown name, with the nearest.
  static Result<Faults> Parse(std::string_view text);
  bool Active(Fault fault) const { return active_ == fault; }
  std::vector<std::string> names() const;

 private:
  Fault active_ = Fault::kNone;
};

}  // namespace fg
