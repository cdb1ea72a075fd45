#include "promotion/defaults.h"

#include <gtest/gtest.h>

#include "base/sha256.h"

namespace flipgate {
namespace {

constexpr const char* kText =
    "version: 1\nclasses: [cpu, sm_90, other]\ngates:\n"
    "  FG_MMQ:\n    cpu: {stage: promoted, value: 1, since: 2026-12-04}\n    sm_90: {stage: "
    "opt_in}\n"
    "  FG_MMQ_RAW:\n    cpu: {stage: opt_in}\n";

TEST(Defaults, ReadsOneColumn) {
  const auto rows = ReadDefaults(kText, "defaults.yaml", "cpu");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_TRUE((*rows)[0].promoted);
  EXPECT_EQ((*rows)[0].value, "1");
  EXPECT_FALSE((*rows)[1].promoted);
}

TEST(Defaults, AClassLeftOutAndOtherAreOptIn) {
  for (const char* hardware_class : {"sm_80", "other"}) {
    const auto rows = ReadDefaults(kText, "defaults.yaml", hardware_class);
    ASSERT_TRUE(rows.ok());
    for (const DefaultRow& row : *rows) {
      EXPECT_FALSE(row.promoted) << hardware_class;
    }
  }
}

TEST(Defaults, TheHashIsOfStageAndValueAlone) {
  const auto rows = ReadDefaults(kText, "defaults.yaml", "cpu").value();
  EXPECT_EQ(DefaultsHash(rows),
            fg::Sha256Hex(std::string_view("FG_MMQ promoted 1\nFG_MMQ_RAW opt_in\n")));
}

TEST(Defaults, AMistakeIsNamedWithItsPlace) {
  const auto rows =
      ReadDefaults("gates:\n  FG_MMQ:\n    cpu: {stage: promotd, value: 1}\n", "d.yaml", "cpu");
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.status().message().substr(0, rows.status().message().find('\n')),
            "d.yaml:3:18: stage must be opt_in or promoted, is 'promotd'");
  EXPECT_FALSE(
      ReadDefaults("gates:\n  FG_MMQ:\n    cpu: {stage: promoted}\n", "d.yaml", "cpu").ok());
}

TEST(Defaults, ClassesAreThoseThatTheFileLists) {
  const auto classes =
      ReadClasses("version: 1\nclasses: [cpu, sm_90]\ngates: {}\n", "defaults.yaml");
  ASSERT_TRUE(classes.ok()) << classes.status().message();
  EXPECT_EQ(*classes, (std::vector<std::string>{"cpu", "sm_90"}));
  EXPECT_FALSE(ReadClasses("version: 1\ngates: {}\n", "defaults.yaml").ok());
}

}  // namespace
}  // namespace flipgate
