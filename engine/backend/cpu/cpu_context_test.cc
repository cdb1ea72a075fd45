#include "engine/backend/cpu/cpu_context.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "engine/testing/test_engine.h"

namespace fg {
namespace {

using testing::GatesOf;

TEST(CpuContext, SharesEveryIndexOutOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    Ledger ledger;
    MemoryBook memory;
    const Gates gates = GatesOf({"FG_THREADS=" + std::to_string(threads)}, &ledger);
    CpuContext context(gates, &ledger, &memory);
    for (const int64_t total : {1, 2, 31, 32, 33, 100, 1000}) {
      std::vector<std::atomic<int>> seen(total);
      std::atomic<int> shares = 0;
      std::atomic<bool> odd = false;
      context.Parallel(Phase::kPrefill, total, 32, [&](Range range, int thread) {
        ++shares;
        if (range.begin % 32 != 0 || thread >= threads) odd = true;
        for (int64_t i = range.begin; i < range.end; ++i) ++seen[i];
      });
      for (const auto& count : seen) EXPECT_EQ(count, 1);
      EXPECT_FALSE(odd);
      EXPECT_EQ(shares, std::min<int64_t>(threads, (total + 31) / 32)) << total;
    }
    EXPECT_EQ(ledger.counts().launches[static_cast<int>(Phase::kPrefill)], 7u);
  }
}

TEST(CpuContext, SmallWorkStaysWhole) {
  EXPECT_EQ(GrainFor(1 << 19), 1);
  EXPECT_EQ(GrainFor((1 << 19) - 1), 2);
  EXPECT_EQ(GrainFor(256), 2048);
  EXPECT_EQ(GrainFor(1 << 22, 32), 32);
  EXPECT_EQ(GrainFor(16384, 24), 48);
}

TEST(CpuContext, ScoresAreEachThreadsOwn) {
  Ledger ledger;
  MemoryBook memory;
  const Gates gates = GatesOf({"FG_THREADS=3"}, &ledger);
  CpuContext context(gates, &ledger, &memory);
  ASSERT_TRUE(context.ReserveScores(100).ok());
  EXPECT_GE(context.scores(1), context.scores(0) + 100);
  EXPECT_GE(context.scores(2), context.scores(1) + 100);
  EXPECT_EQ(memory.entry(MemoryCategory::kScratch).now, 4096u);
  float* const before = context.scores(0);
  ASSERT_TRUE(context.ReserveScores(50).ok());
  EXPECT_EQ(context.scores(0), before);
  EXPECT_EQ(context.ReserveScores(int64_t{1} << 58).kind(), ErrorKind::kOutOfMemory);
}

TEST(CpuContext, KnowsItsFaults) {
  Ledger ledger;
  MemoryBook memory;
  const auto context = [&](std::vector<std::string> environment) {
    static std::vector<std::unique_ptr<Gates>> alive;
    alive.push_back(std::make_unique<Gates>(GatesOf(environment, &ledger)));
    return std::make_unique<CpuContext>(*alive.back(), &ledger, &memory);
  };
  EXPECT_EQ(context({})->quantizer_fault(), KernelFault::kNone);
  EXPECT_EQ(context({"FG_FAULT=coarse_activations"})->quantizer_fault(), KernelFault::kCoarseQuant);
  EXPECT_TRUE(context({"FG_FAULT=default_moves_more"})->default_moves_more());
  EXPECT_FALSE(context({"FG_FAULT=default_moves_more", "FG_MMQ=0"})->default_moves_more());
  EXPECT_FALSE(context({})->default_moves_more());
  EXPECT_TRUE(ledger.counts().gate_reads.empty());
}

}  // namespace
}  // namespace fg
