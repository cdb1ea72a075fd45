#include "engine/backend/cpu/activation_planes.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

TEST(ActivationPlanes, HoldsTheLastSourceUntilCleared) {
  MemoryBook memory;
  ActivationPlanes planes(&memory);
  const float a[64] = {}, b[64] = {};
  ASSERT_TRUE(planes.ReserveQuantized(2, 32).ok());
  EXPECT_FALSE(planes.HoldsQuantized(a, 2, 32));
  EXPECT_TRUE(planes.HoldsQuantized(a, 2, 32));
  EXPECT_FALSE(planes.HoldsQuantized(a, 1, 32));
  EXPECT_FALSE(planes.HoldsQuantized(a, 1, 64));
  EXPECT_FALSE(planes.HoldsQuantized(b, 1, 64));
  EXPECT_FALSE(planes.HoldsQuantized(a, 1, 64));
  planes.Clear();
  EXPECT_FALSE(planes.HoldsQuantized(a, 1, 64));
}

TEST(ActivationPlanes, TheFormsAreApart) {
  MemoryBook memory;
  ActivationPlanes planes(&memory);
  const float a[64] = {};
  EXPECT_FALSE(planes.HoldsQuantized(a, 2, 32));
  EXPECT_FALSE(planes.HoldsRounded(a, 2, 32));
  EXPECT_TRUE(planes.HoldsQuantized(a, 2, 32));
  EXPECT_TRUE(planes.HoldsRounded(a, 2, 32));
  planes.Clear();
  EXPECT_FALSE(planes.HoldsRounded(a, 2, 32));
}

TEST(ActivationPlanes, APlaneThatMovesIsForgotten) {
  MemoryBook memory;
  ActivationPlanes planes(&memory);
  const float a[64] = {};
  ASSERT_TRUE(planes.ReserveQuantized(100, 32).ok());
  EXPECT_FALSE(planes.HoldsQuantized(a, 2, 32));
  ASSERT_TRUE(planes.ReserveQuantized(50, 32).ok());
  EXPECT_TRUE(planes.HoldsQuantized(a, 2, 32));
  ASSERT_TRUE(planes.ReserveQuantized(1000, 64).ok());
  EXPECT_FALSE(planes.HoldsQuantized(a, 2, 32));
}

TEST(ActivationPlanes, BooksWhatItHolds) {
  MemoryBook memory;
  {
    ActivationPlanes planes(&memory);
    ASSERT_TRUE(planes.ReserveQuantized(512, 256).ok());
    EXPECT_EQ(memory.entry(MemoryCategory::kScratch).now, 512u * 8 * 40);
    ASSERT_TRUE(planes.ReserveRounded(1024, 256).ok());
    EXPECT_EQ(memory.entry(MemoryCategory::kScratch).now,
              512u * 8 * 40 + 1024 * 256 * 2 + 1024 * 4);
  }
  EXPECT_EQ(memory.entry(MemoryCategory::kScratch).now, 0u);
  ActivationPlanes planes(&memory);
  EXPECT_EQ(planes.ReserveQuantized(int64_t{1} << 50, 256).kind(), ErrorKind::kOutOfMemory);
}

}  // namespace
}  // namespace fg
