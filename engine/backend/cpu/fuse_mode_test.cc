#include "engine/backend/cpu/fuse_mode.h"

#include <gtest/gtest.h>

#include "engine/testing/test_engine.h"

namespace fg {
namespace {

using testing::GatesOf;
using Environment = std::vector<std::string>;

FuseFacts Clear(int asked) {
  return {.asked = asked,
          .needs_on = true,
          .width = 256,
          .ffn = 1024,
          .nibble_family_only = true,
          .prefill_gemm = true,
          .readers = {}};
}

std::string Said(const FuseFacts& facts) {
  const FuseMode mode = ResolveFuseMode(facts);
  EXPECT_EQ(mode.asked, facts.asked);
  std::string said = std::to_string(mode.mode);
  for (const Degradation& entry : mode.degradations) {
    said += " | " + entry.from + " > " + entry.to + ": " + entry.reason;
  }
  return said;
}

TEST(FuseMode, IsWhatWasAskedWhereNoRuleSpeaks) {
  for (const int asked : {0, 1, 2}) EXPECT_EQ(Said(Clear(asked)), std::to_string(asked));
}

TEST(FuseMode, EachRuleHasItsReason) {
  FuseFacts facts = Clear(2);
  facts.needs_on = false;
  EXPECT_EQ(Said(facts), "0 | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=0: needs");
  for (int64_t FuseFacts::*width : {&FuseFacts::width, &FuseFacts::ffn}) {
    facts = Clear(2);
    facts.*width = 320;
    EXPECT_EQ(Said(facts), "0 | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=0: width");
  }
  facts = Clear(2);
  facts.nibble_family_only = false;
  EXPECT_EQ(Said(facts), "1 | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=1: weight_mix");
  facts = Clear(2);
  facts.prefill_gemm = false;
  EXPECT_EQ(Said(facts), "1 | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=1: prefill_gemm");
  facts = Clear(2);
  facts.readers = {"FG_DUMP_DIR", "FG_TRACE"};
  EXPECT_EQ(Said(facts),
            "1 | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=1: reader FG_DUMP_DIR | FG_MMQ_A_FUSE=2 > "
            "FG_MMQ_A_FUSE=1: reader FG_TRACE");
}

TEST(FuseMode, TheLowestWinsAndEveryReasonIsSaid) {
  FuseFacts facts = Clear(2);
  facts.ffn = 832;
  facts.nibble_family_only = false;
  facts.readers = {"FG_LIVE"};
  EXPECT_EQ(Said(facts),
            "0 | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=0: width | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=1: "
            "weight_mix | FG_MMQ_A_FUSE=2 > FG_MMQ_A_FUSE=1: reader FG_LIVE");
  facts.asked = 1;  // what mode 1 can do anyway takes nothing from it
  EXPECT_EQ(Said(facts), "0 | FG_MMQ_A_FUSE=1 > FG_MMQ_A_FUSE=0: width");
  facts.asked = 0;
  EXPECT_EQ(Said(facts), "0");
}

TEST(FuseMode, FactsComeFromTheRegistryAndAreCounted) {
  const Environment full = {"FG_MMQ=1",        "FG_MMQ_RAW=1",         "FG_MMQ_RAW_NB=1",
                            "FG_MMQ_Q6K_NB=1", "FG_MMQ_A_TRANSPOSE=1", "FG_MMQ_A_FUSE=2",
                            "FG_TRACE=t.json", "FG_PREFILL_GEMM=0"};
  Ledger ledger;
  const ModelShape shape = {.width = 320, .ffn = 832};
  const FuseFacts facts = GatherFuseFacts(GatesOf(full, &ledger), shape, true);
  EXPECT_EQ(facts.asked, 2);
  EXPECT_TRUE(facts.needs_on);
  EXPECT_EQ(facts.width, 320);
  EXPECT_EQ(facts.ffn, 832);
  EXPECT_TRUE(facts.nibble_family_only);
  EXPECT_FALSE(facts.prefill_gemm);
  EXPECT_EQ(facts.readers, std::vector<std::string>{"FG_TRACE"});
  EXPECT_EQ(ledger.counts().gate_reads.size(), 6u);
  for (const auto& [key, count] : ledger.counts().gate_reads) {
    EXPECT_EQ(key.second, Phase::kLoad);
    EXPECT_EQ(count, 1u);
  }
  for (size_t missing = 0; missing < 5; ++missing) {
    Environment environment = full;
    environment.erase(environment.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_FALSE(GatherFuseFacts(GatesOf(environment, &ledger), shape, true).needs_on) << missing;
  }
  ledger.Take();
  EXPECT_TRUE(GatherFuseFacts(GatesOf({}, &ledger), shape, false).needs_on);
  EXPECT_EQ(ledger.counts().gate_reads.size(), 1u);
}

TEST(FuseMode, PlantedFaultsMakeRulesBlind) {
  Ledger ledger;
  const ModelShape shape = {.width = 256, .ffn = 512};
  const auto gather = [&](const Environment& environment) {
    return GatherFuseFacts(GatesOf(environment, &ledger), shape, false);
  };
  EXPECT_FALSE(gather({}).nibble_family_only);
  EXPECT_TRUE(gather({"FG_FAULT=weight_mix_ignored"}).nibble_family_only);
  EXPECT_TRUE(gather({"FG_FAULT=dump_reads_skipped", "FG_TRACE=t"}).readers.empty());
}

}  // namespace
}  // namespace fg
