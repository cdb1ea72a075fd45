#include "engine/backend/cpu/fuse_mode.h"

#include <algorithm>

namespace fg {
namespace {

constexpr int64_t kSuperBlockValues = 256;

std::string Named(int mode) {
  return std::string(EntryOf(Gate::kMmqAFuse).name) + "=" + std::to_string(mode);
}

}  // namespace

FuseMode ResolveFuseMode(const FuseFacts& facts) {
  FuseMode result = {facts.asked, facts.asked, {}};
  const auto at_most = [&](int mode, const std::string& reason) {
    if (facts.asked <= mode) return;
    result.mode = std::min(result.mode, mode);
    result.degradations.push_back({Named(facts.asked), Named(mode), reason});
  };
  if (!facts.needs_on) at_most(0, "needs");
  if (facts.width % kSuperBlockValues != 0 || facts.ffn % kSuperBlockValues != 0) {
    at_most(0, "width");
  }
  if (!facts.nibble_family_only) at_most(1, "weight_mix");
  if (!facts.prefill_gemm) at_most(1, "prefill_gemm");
  for (const std::string& reader : facts.readers) at_most(1, "reader " + reader);
  return result;
}

FuseFacts GatherFuseFacts(const Gates& gates, const ModelShape& shape, bool nibble_family_only) {
  FuseFacts facts;
  facts.asked = gates.Mode(Gate::kMmqAFuse, Phase::kLoad);
  facts.needs_on = true;
  if (facts.asked > 0) {
    for (const Gate need : EntryOf(Gate::kMmqAFuse).needs) {
      facts.needs_on = gates.On(need, Phase::kLoad) && facts.needs_on;
    }
  }
  facts.width = shape.width;
  facts.ffn = shape.ffn;
  facts.nibble_family_only = nibble_family_only || gates.faults().Active(Fault::kWeightMixIgnored);
  // A dead fast path hides behind a fallback that is right: the generic kernel reads f32 rows.
  if (gates.faults().Active(Fault::kDeadFastPath)) facts.nibble_family_only = false;
  facts.prefill_gemm = gates.settings().prefill_gemm;
  if (!gates.faults().Active(Fault::kDumpReadsSkipped)) facts.readers = gates.settings().Readers();
  return facts;
}

}  // namespace fg
