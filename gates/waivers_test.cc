#include "gates/waivers.h"

#include <gtest/gtest.h>

#include "gates/testing/small_matrix.h"

namespace flipgate {
namespace {

constexpr const char* kGood =
    "version: 1\n"
    "waivers:\n"
    "  - {cell: parity/FG_A/a, class: cpu, issue: \"#7\", owner: ann, reason: known, expires: "
    "2026-12-31}\n"
    "  - {cell: parity/FG_A/a, class: gpu, issue: \"#8\", owner: bob, reason: known, expires: "
    "2026-12-31}\n";

std::string Refused(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  const auto waivers =
      ParseWaivers(text.replace(at, from.size(), to), "w.yaml", SmallMatrix(), "cpu");
  EXPECT_FALSE(waivers.ok());
  return waivers.status().message().substr(0, waivers.status().message().find('\n'));
}

TEST(Waivers, ReadsThoseOfTheClass) {
  const auto waivers = ParseWaivers(kGood, "w.yaml", SmallMatrix(), "cpu");
  ASSERT_TRUE(waivers.ok()) << waivers.status().message();
  ASSERT_EQ(waivers->size(), 1u);
  EXPECT_EQ(waivers->at(0).cell.Text(), "parity/FG_A/a");
  EXPECT_EQ(waivers->at(0).owner, "ann");
  EXPECT_EQ(waivers->at(0).issue, "#7");
  EXPECT_EQ(waivers->at(0).expires, "2026-12-31");
}

TEST(Waivers, AMissingFileHoldsNone) {
  const auto waivers = LoadWaivers("/no/such/waivers.yaml", "waivers.yaml", SmallMatrix(), "cpu");
  ASSERT_TRUE(waivers.ok());
  EXPECT_TRUE(waivers->empty());
}

TEST(Waivers, RefusesWhatNobodyCouldActOn) {
  EXPECT_EQ(Refused("parity/FG_A/a", "parity/FG_C/a"),
            "w.yaml:3:12: 'parity/FG_C/a' is no cell of class cpu; did you mean 'parity/FG_A/a'?");
  EXPECT_EQ(Refused("parity/FG_A/a, class: gpu", "parity/FG_A/b, class: gpu"),
            "w.yaml:4:12: 'parity/FG_A/b' is no cell of class gpu; did you mean 'parity/FG_A/a'?");
  EXPECT_EQ(Refused("2026-12-31", "2026-13-01"),
            "w.yaml:3:88: a waiver's expires must be a date such as 2026-12-31, is '2026-13-01'");
  EXPECT_EQ(Refused("2026-12-31", "never"),
            "w.yaml:3:88: a waiver's expires must be a date such as 2026-12-31, is 'never'");
  EXPECT_EQ(Refused(", reason: known", ""), "w.yaml:3:5: a waiver has no 'reason'");
  EXPECT_EQ(Refused("reason: known", "reason: \"\""),
            "w.yaml:3:72: a waiver's reason must not be empty");
  EXPECT_EQ(Refused("owner: ann", "owner: ann, until: then"),
            "w.yaml:3:64: unknown key 'until' in a waiver");
  EXPECT_EQ(Refused("class: gpu", "class: cpu"),
            "w.yaml:4:5: parity/FG_A/a on cpu is waived twice");
  EXPECT_EQ(Refused("version: 1", "version: 3"),
            "w.yaml:1:10: this program reads version 1 of the waivers, not 3");
}

}  // namespace
}  // namespace flipgate
