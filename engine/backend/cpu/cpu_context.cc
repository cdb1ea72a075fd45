#include "engine/backend/cpu/cpu_context.h"

namespace fg {

CpuContext::CpuContext(const Gates& gates, Ledger* ledger, MemoryBook* memory)
    : gates_(gates),
      ledger_(ledger),
      memory_(memory),
      level_(gates.settings().cpu_level),
      threads_(gates.settings().threads),
      quantizer_fault_(gates.faults().Active(Fault::kCoarseActivations) ? KernelFault::kCoarseQuant
                                                                        : KernelFault::kNone),
      default_moves_more_(gates.faults().Active(Fault::kDefaultMovesMore) &&
                          gates.AllFromDefaults()),
      planes_(memory) {
  planes_.SkipChecks(Faulty(Fault::kStalePlaneHit), Faulty(Fault::kDeadWriteRead));
}

Status CpuContext::ReserveScores(int64_t floats) {
  if (floats <= scores_stride_) return Status::Ok();
  constexpr int64_t kLine = 16;  // floats of a cache line: threads do not share one
  const int64_t stride = (floats + kLine - 1) / kLine * kLine;
  scores_ = HostBuffer();
  scores_stride_ = 0;
  FG_ASSIGN_OR_RETURN(scores_,
                      HostBuffer::Allocate(static_cast<uint64_t>(stride) * threads_ * sizeof(float),
                                           MemoryCategory::kScratch, memory_, "attention scores"));
  scores_stride_ = stride;
  return Status::Ok();
}

}  // namespace fg
