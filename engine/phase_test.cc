#include "engine/phase.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

TEST(Phase, NamesAreThoseOfTheProtocol) {
  EXPECT_STREQ(PhaseName(Phase::kLoad), "load");
  EXPECT_STREQ(PhaseName(Phase::kGraph), "graph");
  EXPECT_STREQ(PhaseName(Phase::kPrefill), "prefill");
  EXPECT_STREQ(PhaseName(Phase::kDecode), "decode");
}

TEST(Phase, TheTailStaysBelowTheRowsOfAPrefillKernel) { EXPECT_LT(kTailRows, kPrefillRows); }

}  // namespace
}  // namespace fg
