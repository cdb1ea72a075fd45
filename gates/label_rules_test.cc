#include "gates/label_rules.h"

#include <gtest/gtest.h>

namespace flipgate {
namespace {

fg::Json Ledger() {
  return fg::Json::parse(R"({
    "forwards": {"prefill": 2, "decode": 5},
    "dispatch": [
      {"phase": "prefill", "op": "matmul", "label": "mmq.q4_K.nb", "count": 60},
      {"phase": "prefill", "op": "matmul", "label": "gemm.f16.q6_K", "count": 18},
      {"phase": "decode", "op": "matmul", "label": "row.q4_K", "count": 99}]})");
}

LabelRule Rule(const std::string& pattern, const std::string& formula) {
  return {pattern, LiveFormula::Parse(formula).value()};
}

const fg::Json kLoad = fg::Json::parse(
    R"({"model": {"layers": 6, "w16": {"q4_K": 30, "q6_K": 9}, "w16_values": {"q4_K": 4000}}})");

std::optional<std::string> Broken(const std::vector<LabelRule>& rules, int64_t* checked) {
  const LabelCounts counts = LabelCounts::FromLedger(Ledger());
  return BrokenRule(rules, counts, ValuesFor(counts, kLoad), checked).value();
}

TEST(LabelRules, CountsStandInTheirFormulas) {
  int64_t checked = 0;
  EXPECT_EQ(
      Broken({Rule("mmq.q4_K.*", "= w16(q4_K) * prefills"), Rule("mmq.q6_K.*", "= 0")}, &checked),
      std::nullopt);
  EXPECT_EQ(Broken({Rule("mmq.*", "= v16(q4_K) - 3940")}, &checked), std::nullopt);
  checked -= 1;
  EXPECT_EQ(checked, 1);  // a rule that wants nothing proves nothing
}

TEST(LabelRules, ASkipWriteWindowNeedsItsWeightsAndWidths) {
  fg::Json load = kLoad;
  load["model"].update({{"width", 256}, {"ffn", 512}});
  const auto fits = [](const fg::Json& told) { return ValuesFor({}, told).skip_write; };
  EXPECT_EQ(fits(load), 1);
  load["model"]["ffn"] = 832;
  EXPECT_EQ(fits(load), 0);
  load["model"]["ffn"] = 512;
  load["model"]["w16"]["f16"] = 1;
  EXPECT_EQ(fits(load), 0);
}

TEST(LabelRules, AWrongCountIsSaidWithBothNumbers) {
  int64_t checked = 0;
  EXPECT_EQ(Broken({Rule("mmq.q4_K.raw", "= w16(q4_K) * prefills")}, &checked),
            "label 'mmq.q4_K.raw' was counted 0 times in prefill, the matrix wants = w16(q4_K) * "
            "prefills (that is 60)");
}

TEST(LabelRules, ALabelOfDecodeDoesNotCountForPrefill) {
  int64_t checked = 0;
  EXPECT_NE(Broken({Rule("row.q4_K", ">= 1")}, &checked), std::nullopt);
}

TEST(LabelRules, AnUnaskedFallbackIsSeenInEveryPhase) {
  fg::Json ledger = Ledger();
  EXPECT_EQ(UnaskedFallback(LabelCounts::FromLedger(ledger)), std::nullopt);
  ledger["dispatch"].push_back(
      {{"phase", "decode"}, {"op", "matmul"}, {"label", "row.q4_K!"}, {"count", 1}});
  EXPECT_EQ(UnaskedFallback(LabelCounts::FromLedger(ledger)),
            "label 'row.q4_K!' was counted 1 times: a fallback that nobody asked for");
}

}  // namespace
}  // namespace flipgate
