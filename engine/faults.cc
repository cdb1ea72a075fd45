#include "engine/faults.h"

#include "base/nearest.h"

namespace fg {

const std::vector<FaultInfo>& AllFaults() {
  static const std::vector<FaultInfo> faults = {
      {Fault::kNibblesSwapped,
       "nibbles_swapped",
       "the q4_K nibble kernel exchanges low and high nibbles of a sub-block pair",
       {"parity", "greedy_contrast", "lattice"}},
      {Fault::kMinDropped,
       "min_dropped",
       "the q4_K nibble kernel leaves the min term of sub-block 5 out",
       {"parity", "lattice"}},
      {Fault::kRawTailSkipped,
       "raw_tail_skipped",
       "the q4_K raw kernel skips the last super-block of each row",
       {"lattice", "parity"}},
      {Fault::kCoarseActivations,
       "coarse_activations",
       "the quantizer keeps 4 bits of each activation, everywhere",
       {"quality", "parity"}},
      {Fault::kDeadFastPath,
       "dead_fast_path",
       "FG_MMQ_RAW_NB on runs the generic kernel and says so in its label",
       {"liveness"}},
      {Fault::kOptOutIgnored,
       "optout_ignored",
       "FG_MMQ_RAW_NB=0 still runs the nibble kernel",
       {"optout"}},
      {Fault::kGateReadInDecode,
       "gate_read_in_decode",
       "the one-row path asks FG_MMQ",
       {"decode_neutral"}},
      {Fault::kCacheLeaked,
       "cache_leaked",
       "the f16 cache is built and booked although the int8 GEMM serves the weight",
       {"memory_two_way"}},
      {Fault::kUnbookedMemory,
       "unbooked_memory",
       "64 MiB are touched at load and booked nowhere",
       {"memory_two_way"}},
      {Fault::kDefaultMovesMore,
       "default_moves_more",
       "with no gate variable set, prefill also coarsens the outputs of norms",
       {"greedy_contrast"}},
      {Fault::kNanLogits, "nan_logits", "one logit of every prefill step is NaN", {"parity"}},
      {Fault::kCrash,
       "crash",
       "the process dies by SIGSEGV in the third forward",
       {"greedy_contrast"}},
  };
  return faults;
}

Result<Faults> Faults::Parse(std::string_view text) {
  Faults faults;
  std::vector<std::string> known;
  for (const FaultInfo& info : AllFaults()) {
    if (text == info.name) {
      faults.active_ = info.fault;
      return faults;
    }
    known.push_back(info.name);
  }
  return Status(ErrorKind::kUsage,
                "unknown fault '" + std::string(text) + "'" + DidYouMean(text, known));
}

std::vector<std::string> Faults::names() const {
  std::vector<std::string> names;
  for (const FaultInfo& info : AllFaults()) {
    if (Active(info.fault)) names.push_back(info.name);
  }
  return names;
}

}  // namespace fg
