// The table of kinds: adding one is a file evidence_KIND.{h,cc} and a row here.
#include "gates/evidence.h"
#include "gates/evidence_backstop.h"
#include "gates/evidence_decode_neutral.h"
#include "gates/evidence_determinism.h"
#include "gates/evidence_greedy_contrast.h"
#include "gates/evidence_lattice.h"
#include "gates/evidence_liveness.h"
#include "gates/evidence_memory_two_way.h"
#include "gates/evidence_mixed_quant.h"
#include "gates/evidence_optout.h"
#include "gates/evidence_parity.h"
#include "gates/evidence_quality.h"
#include "gates/evidence_readers.h"
#include "gates/evidence_reuse_neutral.h"
#include "gates/evidence_sanitizer.h"

namespace flipgate {

const std::vector<EvidenceKind>& AllEvidenceKinds() {
  static const std::vector<EvidenceKind> kKinds = {
      {"parity", "is the number right?", "a fault that two code paths share",
       "float64 and a numpy model of the arithmetic, both written apart from the engine",
       "a predicate as it is: deterministic, one run an arm suffices", &RunParity},
      {"greedy_contrast", "did the promotion only move the switch?",
       "a flip that changes more than which path runs", "the float64 oracle's greedy tokens",
       "a predicate as it is: deterministic, one run an arm suffices", &RunGreedyContrast},
      {"lattice", "is some combination wrong that nobody tried?",
       "a cross term of gates, instruction-set levels or thread counts",
       "the float64 oracle's greedy tokens",
       "a predicate as it is; the combination that differs narrows the gates at once", &RunLattice},
      {"quality", "does another numeric path still answer as well?",
       "a path that is right by its own arithmetic and worse as an answer",
       "perplexity on held text", "a predicate with the same tolerances", &RunQuality},
      {"liveness", "is the gate alive where it is on?",
       "a dead fast path behind a correct fallback", "counts that follow from the model's tensors",
       "a predicate as it is", &RunLiveness},
      {"optout", "does 0 bring the old path back?", "a way out that is rusted shut",
       "the float64 oracle's greedy tokens", "a predicate as it is", &RunOptout},
      {"decode_neutral", "did a prefill gate leak into decode?",
       "a prefill gate that is read, or acts, on fewer than 16 rows",
       "the float64 oracle's greedy tokens", "a predicate as it is", &RunDecodeNeutral},
      {"reuse_neutral", "did a gate reach the graph?",
       "a gate that acts on graph topology, a stale graph, and a session that goes on one row off",
       "the float64 oracle's tokens and logits of the turns as one prompt", "a predicate as it is",
       &RunReuseNeutral},
      {"mixed_quant", "is it safe on models it was not tuned on?",
       "a fast path that takes a weight it cannot consume",
       "the ladder of modes worked out from the model's tensors, and the float64 oracle's tokens",
       "a predicate as it is", &RunMixedQuant},
      {"backstop", "does a broken promise speak up?",
       "a buffer that nobody wrote and a plane of something else, read without a word",
       "the float64 oracle's logits of the same forward, unbroken", "a predicate as it is",
       &RunBackstop},
      {"readers", "do dumps and traces still see true values?",
       "a reader of intermediate values that shows memory nobody wrote",
       "the float64 oracle's greedy tokens, and the digest of the logits that the dump holds",
       "a predicate as it is", &RunReaders},
      {"memory_two_way", "what does each direction cost?",
       "a cache built in vain or leaked, and bytes that nobody booked",
       "relations that follow from the model's tensors, and the system's own figures",
       "a predicate as it is; a claim that no longer holds is a matter of configuration",
       &RunMemoryTwoWay},
      {"determinism", "does the same question always get the same answer?",
       "a result that depends on who arrived first, on the number of threads or on what ran before",
       "the float64 oracle's greedy tokens, where the model has pins", "a predicate as it is",
       &RunDeterminism},
      {"sanitizer", "does a kernel touch what is not its own?",
       "a read or write beyond an array, a read of what nobody wrote, a race between threads",
       "the tool that watches the engine and knows nothing of it", "a predicate as it is",
       &RunSanitizer},
  };
  return kKinds;
}

}  // namespace flipgate
