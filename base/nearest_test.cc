#include "base/nearest.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

TEST(Nearest, CountsEditsAndTranspositions) {
  EXPECT_EQ(EditDistance("FG_MMQ", "FG_MMQ"), 0);
  EXPECT_EQ(EditDistance("FG_MQM", "FG_MMQ"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(EditDistance("fg_mmq", "FG_MMQ"), 0);
}

TEST(Nearest, FindsTheMisspeltGate) {
  const std::vector<std::string> gates = {"FG_MMQ", "FG_MMQ_RAW", "FG_MMQ_RAW_NB"};
  EXPECT_EQ(Nearest("FG_MMQ_RWA", gates), "FG_MMQ_RAW");
  EXPECT_EQ(DidYouMean("FG_MMQ_RAWNB", gates), "; did you mean 'FG_MMQ_RAW_NB'?");
}

TEST(Nearest, StaysSilentWhenNothingIsNear) {
  EXPECT_EQ(Nearest("throughput", {"FG_MMQ", "parity"}), std::nullopt);
  EXPECT_EQ(DidYouMean("x", {}), "");
}

}  // namespace
}  // namespace fg
