#include "engine/backend/cpu/activation_planes.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

constexpr PlaneLayout kAll[] = {PlaneLayout::kRows, PlaneLayout::kTiles, PlaneLayout::kF16};

class Planes : public ::testing::Test {
 protected:
  Planes() : planes_(&memory_) {
    for (const PlaneLayout layout : kAll) EXPECT_TRUE(planes_.Reserve(layout, 20, 64).ok());
  }
  // "hit", "miss", or what it is refused with.
  std::string Ask(PlaneLayout layout, const PlaneSource& source) {
    const auto holds = planes_.Holds(layout, source);
    if (!holds.ok()) {
      EXPECT_EQ(holds.status().kind(), ErrorKind::kRefused);
      return holds.status().message();
    }
    return *holds ? "hit" : "miss";
  }

  MemoryBook memory_;
  ActivationPlanes planes_;
  const float a_[64] = {}, b_[64] = {};
};

TEST_F(Planes, HoldTheLastSourceUntilCleared) {
  for (const PlaneLayout layout : kAll) {
    const PlaneSource source = {a_, 17, 64, 3};
    EXPECT_EQ(Ask(layout, source), "miss");
    planes_.Record(layout, source);
    EXPECT_EQ(Ask(layout, source), "hit");
    EXPECT_EQ(Ask(layout, {a_, 16, 64, 3}), "miss");
    EXPECT_EQ(Ask(layout, {a_, 17, 32, 3}), "miss");
    EXPECT_EQ(Ask(layout, {b_, 17, 64, 3}), "miss");
    EXPECT_EQ(Ask(layout, source), "hit");  // asking alone changes nothing
    planes_.Record(layout, {b_, 17, 64, 4});
    EXPECT_EQ(Ask(layout, source), "miss");
    planes_.Clear();
    EXPECT_EQ(Ask(layout, {b_, 17, 64, 4}), "miss");
  }
  EXPECT_FALSE(planes_.breached());
}

TEST_F(Planes, TheLayoutsAreApart) {
  planes_.Record(PlaneLayout::kRows, {a_, 17, 64, 3});
  EXPECT_EQ(Ask(PlaneLayout::kTiles, {a_, 17, 64, 3}), "miss");
  EXPECT_EQ(Ask(PlaneLayout::kF16, {a_, 17, 64, 3}), "miss");
}

// The allocator gave the address to another node, and nobody cleared.
TEST_F(Planes, AHitForAnotherNodeIsRefused) {
  planes_.Record(PlaneLayout::kTiles, {a_, 17, 64, 3});
  EXPECT_EQ(Ask(PlaneLayout::kTiles, {a_, 17, 64, 9}),
            "the plane 'tiles' at hand is that of node 3, asked for is that of node 9 at the same "
            "address: a stale plane");
  EXPECT_TRUE(planes_.breached());
  planes_.ForgetBreach();
  EXPECT_FALSE(planes_.breached());
}

TEST_F(Planes, AHitOnMemoryThatIsNotTheRecordedPlaneIsRefused) {
  planes_.Record(PlaneLayout::kRows, {a_, 20, 64, 3});
  // Whoever writes past the plane's last chunk wipes its stamp.
  planes_.rows()[20 * 2].q[0] ^= 1;
  EXPECT_EQ(Ask(PlaneLayout::kRows, {a_, 20, 64, 3}),
            "the plane 'rows' at hand is that of node 3, asked for is that of node 3 at the same "
            "address: a stale plane");
}

TEST_F(Planes, ADeadWriteIsReadByItsPlaneAlone) {
  planes_.Record(PlaneLayout::kTiles, {a_, 17, 64, 3}, true);
  EXPECT_EQ(Ask(PlaneLayout::kTiles, {a_, 17, 64, 3}), "hit");
  const std::string refused =
      "the output of node 3 is asked for, which FG_MMQ_A_FUSE=2 left unwritten: a dead write";
  EXPECT_EQ(Ask(PlaneLayout::kRows, {a_, 17, 64, 3}), refused);
  EXPECT_EQ(Ask(PlaneLayout::kF16, {a_, 17, 64, 3}), refused);
  EXPECT_EQ(Ask(PlaneLayout::kTiles, {a_, 17, 32, 3}), refused);
  EXPECT_EQ(planes_.CheckWritten({a_, 17, 64, 3}).message(), refused);
  EXPECT_TRUE(planes_.CheckWritten({b_, 17, 64, 3}).ok());
  EXPECT_EQ(Ask(PlaneLayout::kRows, {b_, 17, 64, 4}), "miss");
  planes_.Record(PlaneLayout::kTiles, {b_, 17, 64, 4});  // the plane is gone, the promise stays
  EXPECT_EQ(Ask(PlaneLayout::kTiles, {a_, 17, 64, 3}), refused);
  planes_.Clear();
  EXPECT_TRUE(planes_.CheckWritten({a_, 17, 64, 3}).ok());
  EXPECT_EQ(Ask(PlaneLayout::kRows, {a_, 17, 64, 3}), "miss");
}

TEST_F(Planes, PlantedFaultsLookAwayAndTheBreachIsStillSeen) {
  planes_.SkipChecks(true, true);
  planes_.Record(PlaneLayout::kTiles, {a_, 17, 64, 3}, true);
  EXPECT_EQ(Ask(PlaneLayout::kTiles, {a_, 17, 64, 9}), "hit");
  EXPECT_TRUE(planes_.breached());
  planes_.ForgetBreach();
  EXPECT_EQ(Ask(PlaneLayout::kRows, {a_, 17, 64, 3}), "miss");
  EXPECT_TRUE(planes_.breached());
}

TEST_F(Planes, APlaneThatMovesIsForgotten) {
  planes_.Record(PlaneLayout::kRows, {a_, 17, 64, 3});
  ASSERT_TRUE(planes_.Reserve(PlaneLayout::kRows, 10, 64).ok());
  EXPECT_EQ(Ask(PlaneLayout::kRows, {a_, 17, 64, 3}), "hit");
  ASSERT_TRUE(planes_.Reserve(PlaneLayout::kRows, 1000, 64).ok());
  EXPECT_EQ(Ask(PlaneLayout::kRows, {a_, 17, 64, 3}), "miss");
}

TEST(ActivationPlanes, BookWhatTheyHoldInWholePages) {
  MemoryBook memory;
  const auto now = [&] { return memory.entry(MemoryCategory::kScratch).now; };
  {
    ActivationPlanes planes(&memory);
    ASSERT_TRUE(planes.Reserve(PlaneLayout::kRows, 512, 256).ok());
    const uint64_t rows = 512 * 8 * 40 + 4096;  // whole pages, and one for the stamp
    EXPECT_EQ(now(), rows);
    ASSERT_TRUE(planes.Reserve(PlaneLayout::kTiles, 513, 256).ok());
    const uint64_t tiles = 33 * 8 * 640 + 3072;  // 33 tiles of 16 rows; the rest of a page
    EXPECT_EQ(now(), rows + tiles);
    ASSERT_TRUE(planes.Reserve(PlaneLayout::kF16, 1024, 256).ok());
    EXPECT_EQ(now(), rows + tiles + 1024 * 256 * 2 + 1024 * 4 + 4096);
  }
  EXPECT_EQ(now(), 0u);
  ActivationPlanes planes(&memory);
  const Status full = planes.Reserve(PlaneLayout::kRows, int64_t{1} << 50, 256);
  EXPECT_EQ(full.kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(full.message(), "cannot take 360287970189639720 bytes for the activation plane 'rows'");
}

}  // namespace
}  // namespace fg
