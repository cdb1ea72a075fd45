#include "base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace fg {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST(Checked, AddRefusesWrap) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
}

TEST(Checked, MulRefusesWrap) {
  EXPECT_EQ(CheckedMul(1ull << 32, (1ull << 32) - 1), 0xFFFFFFFF00000000ull);
  EXPECT_EQ(CheckedMul(1ull << 32, 1ull << 32), std::nullopt);
}

TEST(Checked, AlignUpRefusesWrap) {
  EXPECT_EQ(CheckedAlignUp(0, 32), 0u);
  EXPECT_EQ(CheckedAlignUp(33, 32), 64u);
  EXPECT_EQ(CheckedAlignUp(kMax - 3, 32), std::nullopt);
}

}  // namespace
}  // namespace fg
