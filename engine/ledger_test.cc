#include "engine/ledger.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

TEST(Ledger, CountsDispatchPerPhaseOpAndLabel) {
  Ledger ledger;
  ledger.CountDispatch(Phase::kPrefill, "matmul", "mmq.q4_K.nb");
  ledger.CountDispatch(Phase::kPrefill, "matmul", "mmq.q4_K.nb");
  ledger.CountDispatch(Phase::kDecode, "matmul", "row.q4_K");
  const auto& dispatch = ledger.counts().dispatch;
  ASSERT_EQ(dispatch.size(), 2u);
  EXPECT_EQ(dispatch.at({Phase::kPrefill, "matmul", "mmq.q4_K.nb"}), 2u);
  EXPECT_EQ(dispatch.at({Phase::kDecode, "matmul", "row.q4_K"}), 1u);
}

TEST(Ledger, CountsLaunchesForwardsAndReadsPerPhase) {
  Ledger ledger;
  ledger.CountLaunch(Phase::kDecode);
  ledger.CountLaunch(Phase::kDecode);
  ledger.CountForward(Phase::kPrefill);
  ledger.CountGateRead("FG_MMQ", Phase::kLoad);
  ledger.CountGateRead("FG_MMQ", Phase::kPrefill);
  ledger.CountGateRead("FG_MMQ", Phase::kPrefill);
  const auto& counts = ledger.counts();
  EXPECT_EQ(counts.launches[static_cast<size_t>(Phase::kDecode)], 2u);
  EXPECT_EQ(counts.launches[static_cast<size_t>(Phase::kPrefill)], 0u);
  EXPECT_EQ(counts.forwards[static_cast<size_t>(Phase::kPrefill)], 1u);
  EXPECT_EQ(counts.gate_reads.at({"FG_MMQ", Phase::kLoad}), 1u);
  EXPECT_EQ(counts.gate_reads.at({"FG_MMQ", Phase::kPrefill}), 2u);
}

TEST(Ledger, CountsPlanesThatWereThereAndPlanesThatWereMade) {
  Ledger ledger;
  ledger.CountPlane(false);
  ledger.CountPlane(true);
  ledger.CountPlane(true);
  EXPECT_EQ(ledger.counts().plane_hits, 2u);
  EXPECT_EQ(ledger.counts().plane_misses, 1u);
}

TEST(Ledger, KeepsEachIdentityOnceWhetherBuiltOrReused) {
  Ledger ledger;
  ledger.CountGraph(false, "b");
  ledger.CountGraph(false, "a");
  ledger.CountGraph(true, "a");
  EXPECT_EQ(ledger.counts().graphs_built, 2u);
  EXPECT_EQ(ledger.counts().graphs_reused, 1u);
  EXPECT_EQ(ledger.counts().graph_identities, (std::set<std::string>{"a", "b"}));
}

TEST(Ledger, KeepsTheSameDegradationOnceAndEveryRefusal) {
  Ledger ledger;
  ledger.AddDegradation({"a", "b", "why"});
  ledger.AddDegradation({"a", "b", "why"});
  ledger.AddDegradation({"a", "b", "another reason"});
  ledger.AddRefusal("no");
  ledger.AddRefusal("no");
  EXPECT_EQ(ledger.counts().degradations.size(), 2u);
  EXPECT_EQ(ledger.counts().refusals.size(), 2u);
}

TEST(Ledger, TakeHandsTheCountsOverAndStartsAnew) {
  Ledger ledger;
  ledger.CountForward(Phase::kDecode);
  ledger.AddRefusal("no");
  const Ledger::Counts taken = ledger.Take();
  EXPECT_EQ(taken.forwards[static_cast<size_t>(Phase::kDecode)], 1u);
  EXPECT_EQ(taken.refusals.size(), 1u);
  EXPECT_EQ(ledger.counts().forwards[static_cast<size_t>(Phase::kDecode)], 0u);
  EXPECT_TRUE(ledger.counts().refusals.empty());
}

}  // namespace
}  // namespace fg
