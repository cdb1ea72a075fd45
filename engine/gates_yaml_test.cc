#include "engine/gates_yaml.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "engine/gates_defaults.h"

namespace fg {
namespace {

constexpr char kHead[] = "version: 1\nclasses: [cpu, sm_90, other]\ngates:\n";
constexpr char kRows[] =
    "  FG_MMQ:\n    cpu: {stage: opt_in}\n"
    "  FG_MMQ_RAW:\n    cpu: {stage: opt_in}\n"
    "  FG_MMQ_RAW_NB:\n    cpu: {stage: opt_in}\n"
    "  FG_MMQ_A_TRANSPOSE: {}\n"
    "  FG_MMQ_Q6K_NB: {}\n"
    "  FG_MMQ_A_FUSE: {}\n"
    "  FG_MMQ_Q6K_EXP: {}\n"
    "  FG_MMQ_Q4K_DSC: {}\n";
constexpr char kLaterRows[] =
    "  FG_MMQ_A_TRANSPOSE: {}\n"
    "  FG_MMQ_Q6K_NB: {}\n"
    "  FG_MMQ_A_FUSE: {cpu: {stage: promoted, value: 2}, sm_90: {stage: promoted, value: 1}}\n"
    "  FG_MMQ_Q6K_EXP: {}\n"
    "  FG_MMQ_Q4K_DSC: {}\n";

std::string ErrorOf(const std::string& text) {
  const auto classes = ReadDefaultsYaml("d.yaml", text);
  if (classes.ok()) return "no error";
  EXPECT_EQ(classes.status().kind(), ErrorKind::kUsage);
  return classes.status().message();
}

// The error of a file whose FG_MMQ row on cpu, line 5 column 10, is `row`.
std::string RowError(const std::string& row) {
  std::string text = std::string(kHead) + kRows;
  const std::string plain = "cpu: {stage: opt_in}";
  return ErrorOf(text.replace(text.find(plain), plain.size(), "cpu: " + row));
}

TEST(DefaultsYaml, ReadsStagesAndValuesPerClass) {
  const auto classes = ReadDefaultsYaml(
      "d.yaml",
      std::string(kHead) +
          "  FG_MMQ:\n"
          "    cpu: {stage: promoted, value: 1, since: 2026-12-04, proof: a-b-c}\n"
          "    sm_90: {stage: opt_in, settle_by: 2027-03-01}\n"
          "  FG_MMQ_RAW:\n"
          "    sm_90: {stage: promoted, value: '1'}\n"
          "  FG_MMQ_RAW_NB:\n"
          "    cpu: {stage: opt_in, break_glass: {who: a, reason: b c, expires: 2027-01-01}}\n" +
          kLaterRows);
  ASSERT_TRUE(classes.ok()) << classes.status().message();
  ASSERT_EQ(classes->size(), 3u);
  const GateDefault on = {GateStage::kPromoted, "1"};
  const GateDefault off = {GateStage::kOptIn, ""};
  const GateDefault full = {GateStage::kPromoted, "2"};
  EXPECT_EQ((*classes)[0], (ClassDefaults{"cpu", {on, off, off, off, off, full, off, off}}));
  EXPECT_EQ((*classes)[1], (ClassDefaults{"sm_90", {off, on, off, off, off, on, off, off}}));
  EXPECT_EQ((*classes)[2], (ClassDefaults{"other", {off, off, off}}));
}

TEST(DefaultsYaml, SourceIsAnInitializerPerClass) {
  const GateDefault on = {GateStage::kPromoted, "1"};
  EXPECT_EQ(DefaultsTableSource({{"cpu", {on, {}, {}}}}),
            "// Made by fg-gates-gen from promotion/defaults.yaml; edit that.\n"
            "{\"cpu\", {{{GateStage::kPromoted, \"1\"}, {GateStage::kOptIn, \"\"}, "
            "{GateStage::kOptIn, \"\"}, {GateStage::kOptIn, \"\"}, {GateStage::kOptIn, \"\"}, "
            "{GateStage::kOptIn, \"\"}, {GateStage::kOptIn, \"\"}, {GateStage::kOptIn, \"\"}, "
            "}}},\n");
}

TEST(DefaultsYaml, TheCompiledTableIsTheFilesTable) {
  const std::string path = std::string(FG_SOURCE_DIR) + "/promotion/defaults.yaml";
  const auto text = ReadFile(path);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const auto classes = ReadDefaultsYaml(path, *text);
  ASSERT_TRUE(classes.ok()) << classes.status().message();
  EXPECT_EQ(*classes, CompiledDefaults());
}

TEST(DefaultsYaml, UnknownGateClassStageValueAndKeyAreRefused) {
  EXPECT_EQ(ErrorOf(std::string(kHead) + kRows + "  FG_MQM:\n    cpu: {stage: opt_in}\n"),
            "d.yaml:15:3: unknown key 'FG_MQM' in gates; did you mean 'FG_MMQ'?");
  EXPECT_EQ(ErrorOf(std::string(kHead) + "  FG_MMQ:\n    sm_09: {stage: opt_in}\n" +
                    std::string(kRows).substr(std::string(kRows).find("  FG_MMQ_RAW:"))),
            "d.yaml:5:5: unknown key 'sm_09' in FG_MMQ; did you mean 'sm_90'?");
  EXPECT_EQ(RowError("{stage: promotd, value: 1}"),
            "d.yaml:5:18: unknown stage 'promotd'; did you mean 'promoted'?");
  EXPECT_EQ(RowError("{stage: promoted, value: 01}"),
            "d.yaml:5:35: unknown value '01': a promoted switch has the value 1");
  EXPECT_EQ(RowError("{stage: promoted, value: true}"),
            "d.yaml:5:35: unknown value 'true': a promoted switch has the value 1");
  EXPECT_EQ(RowError("{stage: promoted, value: [1]}"),
            "d.yaml:5:35: unknown value '': a promoted switch has the value 1");
  std::string fused = std::string(kHead) + kRows;
  fused.replace(fused.find("A_FUSE: {}"), 10, "A_FUSE: {cpu: {stage: promoted, value: 3}}");
  EXPECT_EQ(ErrorOf(fused),
            "d.yaml:12:49: unknown value '3': a promoted mode has the value 1 or 2");
  EXPECT_EQ(RowError("{stge: opt_in}"),
            "d.yaml:5:11: unknown key 'stge' in FG_MMQ.cpu; did you mean 'stage'?");
}

TEST(DefaultsYaml, RowsThatSayTooLittleOrTooMuchAreRefused) {
  EXPECT_EQ(RowError("{stage: promoted}"),
            "d.yaml:5:10: FG_MMQ.cpu is promoted and lacks its value");
  EXPECT_EQ(RowError("{stage: opt_in, value: 1}"),
            "d.yaml:5:33: FG_MMQ.cpu is opt_in and takes no value");
  EXPECT_EQ(RowError("{value: 1}"), "d.yaml:5:10: FG_MMQ.cpu lacks the key 'stage'");
  EXPECT_EQ(RowError("on"), "d.yaml:5:10: FG_MMQ.cpu must be a map");
  EXPECT_EQ(RowError("{stage: opt_in, settle_by: soon}"),
            "d.yaml:5:37: settle_by must be a date YYYY-MM-DD");
  EXPECT_EQ(RowError("{stage: promoted, value: 1, since: 2026-13-01}"),
            "d.yaml:5:45: since must be a date YYYY-MM-DD");
  EXPECT_EQ(RowError("{stage: promoted, value: 1, proof: }"), "d.yaml:5:45: proof must be a text");
  EXPECT_EQ(RowError("{stage: opt_in, break_glass: {who: a, reason: b}}"),
            "d.yaml:5:39: FG_MMQ.cpu.break_glass lacks the key 'expires'");
}

TEST(DefaultsYaml, OtherIsNeverPromoted) {
  std::string text = std::string(kHead) + kRows;
  text.replace(text.find("cpu: {stage: opt_in}"), 20, "other: {stage: promoted, value: 1}");
  EXPECT_EQ(ErrorOf(text), "d.yaml:5:20: class 'other' is always opt_in");
}

TEST(DefaultsYaml, EveryGateHasItsRowInTheRegistrysOrder) {
  EXPECT_EQ(ErrorOf(std::string(kHead) + "  FG_MMQ: {}\n  FG_MMQ_RAW: {}\n"),
            "d.yaml:4:3: gate FG_MMQ_RAW_NB has no row");
  EXPECT_EQ(ErrorOf(std::string(kHead) + "  FG_MMQ_RAW: {}\n  FG_MMQ: {}\n  FG_MMQ_RAW_NB: {}\n"),
            "d.yaml:4:3: gate FG_MMQ_RAW stands where the registry has FG_MMQ; keep the registry's "
            "order");
}

TEST(DefaultsYaml, TheFrameIsHeldToo) {
  EXPECT_EQ(ErrorOf("version: 2\nclasses: [cpu]\ngates: {}\n"),
            "d.yaml:1:10: unknown version '2', this engine knows 1");
  EXPECT_EQ(ErrorOf("version: 1\ngates: {}\n"), "d.yaml:1:1: the file lacks the key 'classes'");
  EXPECT_EQ(ErrorOf("version: 1\nclasses: [cpu, cpu]\n"), "d.yaml:2:16: class 'cpu' twice");
  EXPECT_EQ(ErrorOf("version: 1\nclasses: [CPU]\n"),
            "d.yaml:2:11: a class is a word of a-z, 0-9 and _");
  EXPECT_EQ(ErrorOf("version: 1\nclasses: cpu\n"), "d.yaml:2:10: classes must be a list of names");
  EXPECT_EQ(ErrorOf(""), "d.yaml:1:1: the file must be a map");
}

TEST(DefaultsYaml, YamlThatMisleadsIsRefused) {
  const std::string head = kHead;
  EXPECT_EQ(ErrorOf(head + "  FG_MMQ: {}\n  FG_MMQ: {}\n"), "d.yaml:5:3: duplicate key 'FG_MMQ'");
  EXPECT_EQ(RowError("{stage: opt_in, stage: promoted}"), "d.yaml:5:26: duplicate key 'stage'");
  EXPECT_EQ(ErrorOf(head + "  FG_MMQ: &a {}\n"), "d.yaml:4:11: anchors are not allowed");
  EXPECT_EQ(ErrorOf(head + "  FG_MMQ: !!map {}\n"), "d.yaml:4:11: tags are not allowed");
  EXPECT_EQ(ErrorOf(head + kRows + "---\nversion: 1\n"),
            "d.yaml:15:1: a second document is not allowed");
  EXPECT_EQ(ErrorOf("\xEF\xBB\xBFversion: 1\n"), "d.yaml:1:1: a byte-order mark is not allowed");
  EXPECT_EQ(ErrorOf(head + "  <<: {}\n"), "d.yaml:4:3: unknown key '<<' in gates");
  EXPECT_EQ(ErrorOf(head + "  [FG_MMQ]: {}\n"), "d.yaml:4:3: a key must be a word");
  EXPECT_EQ(ErrorOf(head + "\tFG_MMQ: {}\n").substr(0, 9), "d.yaml:4:");
  EXPECT_EQ(ErrorOf("a: [" + std::string(70, '[') + std::string(70, ']') + "]\n").substr(7),
            "1:67: nested more than 64 deep");
  std::string many = "a: [";
  for (int i = 0; i < 10001; ++i) many += "1,\n";
  EXPECT_EQ(ErrorOf(many + "]\n"), "d.yaml:9998:1: more than 10000 nodes");
}

// The build's own step: a bad file stops it.
TEST(GatesGen, ExitsWithTwoAndWritesNothingOnABadFile) {
  const std::string folder = fg::ProcessTempDir() + "fg_gates_gen_test";
  ASSERT_TRUE(MakeFolders(folder).ok());
  ASSERT_TRUE(WriteFileAtomic(folder + "/d.yaml", "version: 1\n").ok());
  const std::string output = folder + "/out.inc";
  std::remove(output.c_str());
  const std::string program = std::string(FG_BINARY_DIR) + "/bin/fg-gates-gen ";
  const std::string command = program + folder + "/d.yaml " + output + " 2> " + folder + "/errors";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  EXPECT_EQ(*ReadFile(folder + "/errors"),
            folder + "/d.yaml:1:1: the file lacks the key 'classes'\n");
  EXPECT_FALSE(std::ifstream(output).good());
}

}  // namespace
}  // namespace fg
