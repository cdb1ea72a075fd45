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
       {"decode_neutral"},
       "any"},
      {Fault::kCacheLeaked,
       "cache_leaked",
       "the f16 cache is built and booked although the int8 GEMM serves the weight",
       {"memory_two_way"}},
      {Fault::kUnbookedMemory,
       "unbooked_memory",
       "64 MiB are touched at load and booked nowhere",
       {"memory_two_way"},
       "any"},
      {Fault::kDefaultMovesMore,
       "default_moves_more",
       "with no gate variable set, prefill also coarsens the outputs of norms",
       {"greedy_contrast"}},
      {Fault::kNanLogits,
       "nan_logits",
       "one logit of every prefill step is NaN",
       {"parity"},
       "any"},
      {Fault::kCrash,
       "crash",
       "the process dies by SIGSEGV in the third forward",
       {"greedy_contrast"},
       "any"},
      {Fault::kChunkOffPlane,
       "chunk_off_plane",
       "the q4_K tile kernel reads the chunk of index k*8 + lane/8 in place of its own",
       {"parity", "lattice"}},
      {Fault::kQ6kScalesSwapped,
       "q6k_scales_swapped",
       "the q6_K nibble kernels and the plane's builder exchange the scales of a chunk's two "
       "halves",
       {"parity", "lattice"}},
      {Fault::kScalesRounded,
       "scales_rounded",
       "the pairs of the q4_K scale plane are rounded to f16",
       {"parity", "lattice"}},
      {Fault::kTailRowsDirty,
       "tail_rows_dirty",
       "the tile quantizer leaves the rows past the last one as they were",
       {"parity"}},
      {Fault::kWeightMixIgnored,
       "weight_mix_ignored",
       "FG_MMQ_A_FUSE=2 stays on whatever the types of the weights",
       {"mixed_quant"}},
      {Fault::kWeightMixBlindToF16,
       "weight_mix_blind_to_f16",
       "the weight-mix flag takes f16 weights for the nibble family",
       {"mixed_quant"}},
      {Fault::kSkipWriteWrites,
       "skip_write_writes",
       "producers of mode 2 write their f32 rows too",
       {"parity"}},
      {Fault::kFuseDead,
       "fuse_dead",
       "FG_MMQ_A_FUSE on runs the producer and a separate prepass, and says so in the label",
       {"liveness"}},
      {Fault::kPlaneForTail,
       "plane_for_tail",
       "planes are built for the weights of the tail too",
       {"memory_two_way"}},
      {Fault::kKvRowOff,
       "kv_row_off",
       "a session that goes on with a graph that was used before reads its KV one row off",
       {"reuse_neutral"},
       "any"},
      {Fault::kGateInGraph,
       "gate_in_graph",
       "FG_MMQ_A_FUSE is one of the graph's parameters",
       {"reuse_neutral"}},
      {Fault::kDumpReadsSkipped,
       "dump_reads_skipped",
       "readers do not degrade mode 2, so they see memory that nobody wrote",
       {"readers"}},
      {Fault::kStalePlaneHit,
       "stale_plane_hit",
       "the plane cache gives a plane without the physical check",
       {"backstop"}},
      {Fault::kDeadWriteRead,
       "dead_write_read",
       "a buffer that mode 2 left unwritten is read without a word",
       {"backstop"}},
      {Fault::kQ6kCoarse,
       "q6k_coarse",
       "the q6_K nibble kernels clear the two lowest bits of each value",
       {"quality"}},
      {Fault::kOptOutQ6kIgnored,
       "optout_q6k_ignored",
       "FG_MMQ_Q6K_NB=0 still runs the nibble kernel",
       {"optout"}},
      {Fault::kThreadSum,
       "thread_sum",
       "the sum of squares of a norm is cut by the number of threads",
       {"determinism"}},
      {Fault::kStaleReplay,
       "stale_replay",
       "a captured step runs again with the positions that it was captured with",
       {"reuse_neutral"},
       "cuda"},
      {Fault::kRacingSum,
       "racing_sum",
       "logits are scaled by a float sum in the order in which threads arrive",
       {"determinism"},
       "cuda"},
      {Fault::kDeviceOverrun,
       "device_overrun",
       "a kernel reads one chunk beyond the end of the array of logits",
       {"sanitizer"},
       "cuda"},
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
