#include "engine/gates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "engine/gates_defaults.h"

namespace fg {
namespace {

using Environment = std::vector<std::string>;
using testing::ElementsAre;

ClassDefaults AllAt(GateStage stage) {
  ClassDefaults defaults;
  defaults.hardware_class = "cpu";
  for (const GateEntry& entry : GateTable()) {
    const bool promoted = stage == GateStage::kPromoted;
    const std::string value = promoted ? entry.PromotedValues().back() : "";
    defaults.gates[static_cast<size_t>(entry.gate)] = {stage, value};
  }
  return defaults;
}

Result<Gates> Opened(const Environment& environment, GateStage stage = GateStage::kOptIn,
                     Ledger* ledger = nullptr) {
  return Gates::Resolve(environment, AllAt(stage), ledger);
}

std::string ErrorOf(const Environment& environment) {
  const auto gates = Opened(environment);
  return gates.ok() ? "no error" : gates.status().message();
}

std::string MessageOf(const Environment& environment) {
  const auto gates = Opened(environment);
  if (!gates.ok()) return gates.status().message();
  if (gates->peculiar().size() != 1) return std::to_string(gates->peculiar().size()) + " said";
  return gates->peculiar()[0].message;
}

// One row of the table of values: what the documentation says and what the registry does.
struct ValueRow {
  std::optional<std::string> text;
  bool on_opt_in, on_promoted, said;
};

const std::vector<ValueRow> kValues = {
    {std::nullopt, false, true, false}, {"", false, true, false},    {"0", false, false, false},
    {"1", true, true, false},           {"2", true, true, true},     {"-1", true, true, true},
    {"true", true, true, false},        {"TRUE", true, true, false}, {"yes", true, true, false},
    {"false", true, true, true},        {"off", true, true, true},   {"no", true, true, true},
    {" 1", true, true, true},           {"1 ", true, true, true},    {"01", true, true, true},
    {"00", true, true, true},           {" 0", true, true, true},
};

TEST(GateValues, EverySwitchFollowsTheTable) {
  for (const GateEntry& entry : GateTable()) {
    if (entry.is_mode()) continue;
    for (const ValueRow& row : kValues) {
      SCOPED_TRACE(std::string(entry.name) + "=" + row.text.value_or("unset"));
      Environment environment = {"PATH=/bin"};
      if (row.text) environment.push_back(std::string(entry.name) + "=" + *row.text);
      const auto opt_in = Opened(environment);
      const auto promoted = Opened(environment, GateStage::kPromoted);
      ASSERT_TRUE(opt_in.ok() && promoted.ok());
      EXPECT_EQ(opt_in->On(entry.gate, Phase::kPrefill), row.on_opt_in);
      EXPECT_EQ(promoted->On(entry.gate, Phase::kPrefill), row.on_promoted);
      EXPECT_EQ(opt_in->peculiar().size(), row.said ? 1u : 0u);
      environment.push_back("FG_STRICT_ENV=1");
      EXPECT_EQ(Opened(environment).ok(), !row.said);
    }
  }
}

// The same of a mode: which it is in, by its stage.
struct ModeRow {
  std::optional<std::string> text;
  int opt_in, promoted_at_2;
  bool said;
};

const std::vector<ModeRow> kModes = {
    {std::nullopt, 0, 2, false}, {"", 0, 2, false},   {"0", 0, 0, false}, {"1", 1, 1, false},
    {"2", 2, 2, false},          {"3", 0, 0, true},   {"-1", 0, 0, true}, {"true", 0, 0, true},
    {"TRUE", 0, 0, true},        {"yes", 0, 0, true}, {"on", 0, 0, true}, {"false", 0, 0, true},
    {"off", 0, 0, true},         {"no", 0, 0, true},  {" 1", 0, 0, true}, {"1 ", 0, 0, true},
    {"01", 0, 0, true},          {"00", 0, 0, true},  {" 2", 0, 0, true}, {"02", 0, 0, true},
};

TEST(GateValues, EveryModeFollowsItsTable) {
  int modes = 0;
  for (const GateEntry& entry : GateTable()) {
    if (!entry.is_mode()) continue;
    ++modes;
    for (const ModeRow& row : kModes) {
      SCOPED_TRACE(std::string(entry.name) + "=" + row.text.value_or("unset"));
      Environment environment = {"PATH=/bin"};
      if (row.text) environment.push_back(std::string(entry.name) + "=" + *row.text);
      const auto opt_in = Opened(environment);
      const auto promoted = Opened(environment, GateStage::kPromoted);
      ASSERT_TRUE(opt_in.ok() && promoted.ok());
      EXPECT_EQ(opt_in->Mode(entry.gate, Phase::kPrefill), row.opt_in);
      EXPECT_EQ(opt_in->On(entry.gate, Phase::kPrefill), row.opt_in != 0);
      EXPECT_EQ(promoted->Mode(entry.gate, Phase::kPrefill), row.promoted_at_2);
      EXPECT_EQ(opt_in->states()[static_cast<size_t>(entry.gate)].value,
                std::to_string(row.opt_in));
      EXPECT_EQ(opt_in->peculiar().size(), row.said ? 1u : 0u);
      environment.push_back("FG_STRICT_ENV=1");
      EXPECT_EQ(Opened(environment).ok(), !row.said);
    }
  }
  EXPECT_EQ(modes, 1);
}

TEST(GateValues, AModePromotedAtOneIsThereWhenUnset) {
  ClassDefaults defaults = AllAt(GateStage::kPromoted);
  defaults.gates[static_cast<size_t>(Gate::kMmqAFuse)].value = "1";
  EXPECT_EQ(Gates::Resolve({}, defaults, nullptr)->Mode(Gate::kMmqAFuse, Phase::kLoad), 1);
  const Environment full = {"FG_MMQ_A_FUSE=2"};
  EXPECT_EQ(Gates::Resolve(full, defaults, nullptr)->Mode(Gate::kMmqAFuse, Phase::kLoad), 2);
}

TEST(GateValues, AModesUnknownTextsAreSaid) {
  EXPECT_EQ(MessageOf({"FG_MMQ_A_FUSE=true"}),
            "FG_MMQ_A_FUSE='true' turned the gate OFF: a mode knows 0, 1 and 2; set "
            "FG_MMQ_A_FUSE=2 to turn it on in full");
  EXPECT_EQ(MessageOf({"FG_MMQ_A_FUSE=3"}),
            "FG_MMQ_A_FUSE='3' turned the gate OFF: a mode knows 0, 1 and 2; set "
            "FG_MMQ_A_FUSE=2 to turn it on in full");
  EXPECT_EQ(MessageOf({"FG_MMQ_A_FUSE=off"}),
            "FG_MMQ_A_FUSE='off' counts as 0: a mode knows 0, 1 and 2");
}

TEST(GateValues, TheDocumentHoldsTheTableOfAMode) {
  const auto page = ReadFile(std::string(FG_SOURCE_DIR) + "/docs/gates.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  std::string table =
      "| value | opt-in | promoted at 2 | said | under `FG_STRICT_ENV=1` "
      "|\n|---|---|---|---|---|\n";
  for (const ModeRow& row : kModes) {
    const std::string shown = row.text ? "`\"" + *row.text + "\"`" : "unset";
    table += "| " + shown + " | " + std::to_string(row.opt_in) + " | " +
             std::to_string(row.promoted_at_2) + " | " + (row.said ? "yes" : "no") + " | " +
             (row.said ? "refused" : "as before") + " |\n";
  }
  EXPECT_NE(page->find(table + "\n"), std::string::npos) << table;
}

TEST(GateValues, TheDocumentHoldsTheSameTable) {
  const auto page = ReadFile(std::string(FG_SOURCE_DIR) + "/docs/gates.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  std::string table =
      "| value | opt-in | promoted | said | under `FG_STRICT_ENV=1` |\n|---|---|---|---|---|\n";
  for (const ValueRow& row : kValues) {
    const std::string shown = row.text ? "`\"" + *row.text + "\"`" : "unset";
    table += "| " + shown + " | " + (row.on_opt_in ? "on" : "off") + " | " +
             (row.on_promoted ? "on" : "off") + " | " + (row.said ? "yes" : "no") + " | " +
             (row.said ? "refused" : "as before") + " |\n";
  }
  EXPECT_NE(page->find(table + "\n"), std::string::npos) << table;
}

TEST(GateValues, WordsForNoAreSaidWithTheWayOut) {
  for (const char* word : {"false", "off", "no", "n", "none", "disable", "disabled", "OFF", "False",
                           " off", "00", " 0", "0.0", "0x0", "-0"}) {
    EXPECT_EQ(MessageOf({std::string("FG_MMQ=") + word}),
              std::string("FG_MMQ='") + word +
                  "' turned the gate ON: any value but 0 does; set FG_MMQ=0 to turn it off");
  }
}

TEST(GateValues, OtherTextsAreSaidToCountAsOne) {
  EXPECT_EQ(MessageOf({"FG_MMQ_RAW=2"}),
            "FG_MMQ_RAW='2' counts as 1: the gate is ON; a switch knows 0 and 1");
  EXPECT_EQ(MessageOf({"FG_MMQ_RAW= 1\n\xff"}),
            "FG_MMQ_RAW=' 1\\x0a\\xff' counts as 1: the gate is ON; a switch knows 0 and 1");
}

TEST(GateValues, WordsForYesAreWhatTheySay) {
  for (const char* word : {"1", "true", "True", "t", "on", "ON", "yes", "Y", "enable", "Enabled"}) {
    EXPECT_EQ(MessageOf({std::string("FG_MMQ=") + word}), "0 said") << word;
  }
}

TEST(Gates, TheTableSaysKindBitsAndNeeds) {
  const auto gates = Opened({"FG_MMQ_RAW=0"}, GateStage::kPromoted);
  ASSERT_TRUE(gates.ok());
  std::string said;
  for (size_t i = 0; i < gates->states().size(); ++i) {
    const GateState& state = gates->states()[i];
    EXPECT_EQ(GateTable()[i].gate, static_cast<Gate>(i));
    EXPECT_EQ(state.modes.empty(), state.kind == "switch");
    said += state.name + " " + state.kind + " " + state.bits + " " + state.env.value_or("unset") +
            " " + state.value + ":";
    for (const std::string& need : state.needs) said += " " + need;
    said += "\n";
  }
  EXPECT_EQ(said,
            "FG_MMQ switch other unset 1:\n"
            "FG_MMQ_RAW switch same 0 0: FG_MMQ\n"
            "FG_MMQ_RAW_NB switch same unset 1: FG_MMQ FG_MMQ_RAW\n"
            "FG_MMQ_A_TRANSPOSE switch same unset 1: FG_MMQ FG_MMQ_RAW FG_MMQ_RAW_NB\n"
            "FG_MMQ_Q6K_NB switch other unset 1: FG_MMQ FG_MMQ_RAW_NB\n"
            "FG_MMQ_A_FUSE mode same unset 2: FG_MMQ FG_MMQ_RAW FG_MMQ_RAW_NB FG_MMQ_A_TRANSPOSE "
            "FG_MMQ_Q6K_NB\n"
            "FG_MMQ_Q6K_EXP switch same unset 1: FG_MMQ FG_MMQ_RAW_NB FG_MMQ_Q6K_NB\n"
            "FG_MMQ_Q4K_DSC switch same unset 1: FG_MMQ FG_MMQ_RAW FG_MMQ_RAW_NB "
            "FG_MMQ_A_TRANSPOSE\n");
  EXPECT_THAT(gates->states()[static_cast<size_t>(Gate::kMmqAFuse)].modes,
              ElementsAre("0", "1", "2"));
}

TEST(Gates, EachReadIsCountedInItsPhaseWhateverTheValue) {
  Ledger ledger;
  const auto gates = Opened({"FG_MMQ=1"}, GateStage::kOptIn, &ledger);
  ASSERT_TRUE(gates.ok());
  EXPECT_TRUE(ledger.counts().gate_reads.empty());
  EXPECT_TRUE(gates->On(Gate::kMmq, Phase::kPrefill));
  EXPECT_TRUE(gates->On(Gate::kMmq, Phase::kPrefill));
  EXPECT_FALSE(gates->On(Gate::kMmqRaw, Phase::kLoad));
  EXPECT_EQ(gates->Mode(Gate::kMmqAFuse, Phase::kPrefill), 0);
  const auto& reads = ledger.counts().gate_reads;
  ASSERT_EQ(reads.size(), 3u);
  EXPECT_EQ(reads.at({"FG_MMQ_A_FUSE", Phase::kPrefill}), 1u);
  EXPECT_EQ(reads.at({"FG_MMQ", Phase::kPrefill}), 2u);
  EXPECT_EQ(reads.at({"FG_MMQ_RAW", Phase::kLoad}), 1u);
}

TEST(Gates, DefaultsSpeakOnlyWhenNoGateVariableIsSet) {
  EXPECT_TRUE(Opened({"FG_CPU_LEVEL=plain", "FG_MMQ="})->AllFromDefaults());
  EXPECT_FALSE(Opened({"FG_MMQ_RAW=0"})->AllFromDefaults());
}

TEST(Gates, OfAVariableGivenTwiceTheFirstCounts) {
  EXPECT_FALSE(Opened({"FG_MMQ=0", "FG_MMQ=1"})->On(Gate::kMmq, Phase::kLoad));
}

TEST(Gates, TheCompiledDefaultsOfTheClassAreUsed) {
  for (const char* hardware_class : {"cpu", "sm_90", "other", "sm_121", ""}) {
    const auto gates = Gates::FromEnvironment({}, hardware_class, nullptr);
    ASSERT_TRUE(gates.ok());
    EXPECT_EQ(gates->hardware_class(), hardware_class);
    const ClassDefaults defaults = DefaultsOf(hardware_class);
    for (size_t i = 0; i < defaults.gates.size(); ++i) {
      EXPECT_EQ(gates->states()[i].stage, defaults.gates[i].stage);
    }
  }
}

TEST(Peculiar, AnUnknownVariableIsSaidWithTheNearestName) {
  const auto gates = Opened({"FG_MQM=1", "FG_THREAD=2", "FG_ZZZZZZZZ=3", "FGMMQ=1", "FG_EMPTY="});
  ASSERT_TRUE(gates.ok());
  ASSERT_EQ(gates->peculiar().size(), 3u);
  const auto& misspelt = gates->peculiar()[0];
  EXPECT_EQ(misspelt.variable, "FG_MQM");
  EXPECT_EQ(misspelt.value, "1");
  EXPECT_EQ(misspelt.message,
            "FG_MQM is no gate and no setting; it does nothing; did you mean 'FG_MMQ'?");
  EXPECT_EQ(misspelt.nearest, "FG_MMQ");
  EXPECT_EQ(gates->peculiar()[1].nearest, "FG_THREADS");
  EXPECT_EQ(gates->peculiar()[2].message, "FG_ZZZZZZZZ is no gate and no setting; it does nothing");
  EXPECT_EQ(gates->peculiar()[2].nearest, "");
}

TEST(Peculiar, UnderStrictEverythingThatIsSaidIsAnError) {
  const auto gates = Opened({"FG_STRICT_ENV=1", "FG_MQM=1", "FG_SYNC_LAUNCH=off"});
  ASSERT_FALSE(gates.ok());
  EXPECT_EQ(gates.status().kind(), ErrorKind::kUsage);
  EXPECT_EQ(
      gates.status().message(),
      "FG_STRICT_ENV=1 refuses what is peculiar: FG_MQM is no gate and no setting; it does "
      "nothing; did you mean 'FG_MMQ'?: FG_SYNC_LAUNCH='off' turned the setting ON: any value "
      "but 0 does; set FG_SYNC_LAUNCH=0 to turn it off");
  EXPECT_EQ(
      ErrorOf({"FG_STRICT_ENV=no"}),
      "FG_STRICT_ENV=1 refuses what is peculiar: FG_STRICT_ENV='no' turned the setting ON: any "
      "value but 0 does; set FG_STRICT_ENV=0 to turn it off");
  EXPECT_TRUE(Opened({"FG_STRICT_ENV=1", "FG_MMQ=1", "FG_THREADS=2", "FG_FAULT=crash"}).ok());
}

TEST(GateSettings, AreReadAndReported) {
  const auto gates =
      Opened({"FG_CPU_LEVEL=plain", "FG_THREADS=3", "FG_PREFILL_GEMM=0", "FG_FAULT=crash"});
  ASSERT_TRUE(gates.ok()) << gates.status().message();
  EXPECT_EQ(gates->settings().cpu_level, CpuLevel::kPlain);
  EXPECT_EQ(gates->settings().threads, 3);
  EXPECT_FALSE(gates->settings().prefill_gemm);
  EXPECT_FALSE(gates->settings().strict_env);
  EXPECT_TRUE(gates->faults().Active(Fault::kCrash));
  EXPECT_TRUE(gates->peculiar().empty());
  EXPECT_EQ(gates->settings_set(), (std::map<std::string, std::string>{{"FG_CPU_LEVEL", "plain"},
                                                                       {"FG_FAULT", "crash"},
                                                                       {"FG_PREFILL_GEMM", "0"},
                                                                       {"FG_THREADS", "3"}}));
}

TEST(GateSettings, DefaultsAreTheBestLevelAndTheProcessorsOfThisProcess) {
  const auto gates = Opened({});
  ASSERT_TRUE(gates.ok());
  EXPECT_EQ(gates->settings().cpu_level, BestCpuLevel());
  EXPECT_EQ(gates->settings().threads, ThreadsByDefault());
  EXPECT_TRUE(gates->settings().prefill_gemm);
  EXPECT_TRUE(gates->settings_set().empty());
}

TEST(GateSettings, WhatCannotBeMeantIsAnErrorWithoutStrictToo) {
  EXPECT_EQ(ErrorOf({"FG_CPU_LEVEL=avx9"}),
            "FG_CPU_LEVEL='avx9' is no level (plain, avx2, avx512); did you mean 'avx2'?");
  EXPECT_EQ(ErrorOf({"FG_FAULT=crahs"}), "FG_FAULT: unknown fault 'crahs'; did you mean 'crash'?");
  for (const char* text : {"0", "-1", "257", "2x", " 2", "two", "99999999999999999999"}) {
    EXPECT_EQ(ErrorOf({std::string("FG_THREADS=") + text}),
              std::string("FG_THREADS='") + text + "' must be a whole number from 1 to 256");
  }
}

TEST(GateSettings, ReadersAreReadInTheRegistrysOrder) {
  const auto gates =
      Opened({"FG_LIVE=0", "FG_TRACE=t.json", "FG_DUMP_DIR=folder", "FG_GRAPH_DUMP=graph.jsonl"});
  ASSERT_TRUE(gates.ok()) << gates.status().message();
  EXPECT_EQ(gates->settings().graph_dump, "graph.jsonl");
  EXPECT_EQ(gates->settings().dump_dir, "folder");
  EXPECT_EQ(gates->settings().trace, "t.json");
  EXPECT_EQ(gates->settings().live, "0");
  EXPECT_THAT(gates->settings().Readers(),
              ElementsAre("FG_GRAPH_DUMP", "FG_DUMP_DIR", "FG_TRACE", "FG_LIVE"));
  EXPECT_TRUE(gates->peculiar().empty());
  EXPECT_THAT(Opened({"FG_TRACE=t"})->settings().Readers(), ElementsAre("FG_TRACE"));
  EXPECT_TRUE(Opened({"FG_TRACE="})->settings().Readers().empty());
}

TEST(GateSettings, APortIsAWholeNumberOf16Bits) {
  EXPECT_EQ(*ReadPort("65535"), 65535);
  EXPECT_EQ(*ReadPort("0"), 0);
  for (const char* text : {"65536", "70000", "-1", "80x", " 80", "http", "1e3"}) {
    EXPECT_EQ(ErrorOf({std::string("FG_LIVE=") + text}),
              std::string("FG_LIVE='") + text +
                  "' must be a port, a whole number from 0 to 65535; 0 picks a free one");
  }
}

TEST(GateSettings, TheLimitOfPlanesIsReadStrictly) {
  EXPECT_EQ(Opened({})->settings().plane_limit_mib, std::nullopt);
  EXPECT_EQ(Opened({"FG_PLANE_LIMIT_MIB=0"})->settings().plane_limit_mib, 0);
  EXPECT_EQ(Opened({"FG_PLANE_LIMIT_MIB=1600"})->settings().plane_limit_mib, 1600);
  for (const char* text : {"-1", "1.5", "2G", " 1", "9999999999", "99999999999999999999"}) {
    EXPECT_EQ(ErrorOf({std::string("FG_PLANE_LIMIT_MIB=") + text}),
              std::string("FG_PLANE_LIMIT_MIB='") + text +
                  "' must be a whole number of MiB from 0 to 1073741824");
  }
}

TEST(GateSettings, ThoseOfAnotherDeviceAreRead) {
  const auto unset = Opened({});
  EXPECT_FALSE(unset->settings().sync_launch);
  EXPECT_TRUE(unset->settings().capture);
  EXPECT_FALSE(unset->settings().clear_outputs);
  EXPECT_EQ(unset->settings().cublaslt_path, "");
  EXPECT_EQ(unset->settings().device_class, "");
  const Environment environment = {"FG_SYNC_LAUNCH=1", "FG_CAPTURE=0", "FG_CUBLASLT_PATH=/opt/lt",
                                   "FG_DEVICE_CLASS=sm_80", "FG_CLEAR_OUTPUTS=1"};
  const auto gates = Opened(environment);
  ASSERT_TRUE(gates.ok()) << gates.status().message();
  EXPECT_TRUE(gates->settings().sync_launch);
  EXPECT_FALSE(gates->settings().capture);
  EXPECT_TRUE(gates->settings().clear_outputs);
  EXPECT_EQ(gates->settings().cublaslt_path, "/opt/lt");
  EXPECT_EQ(gates->settings().device_class, "sm_80");
  EXPECT_TRUE(gates->peculiar().empty());
  EXPECT_EQ(gates->settings_set().size(), 5u);
  const DeviceSettings early = Gates::DeviceSettingsOf(environment);
  EXPECT_EQ(early.cublaslt_path, "/opt/lt");
  EXPECT_EQ(early.device_class, "sm_80");
  EXPECT_EQ(Gates::DeviceSettingsOf(Environment{"FG_DEVICE_CLASS="}).device_class, "");
}

TEST(GateSettings, ALevelThatTheProcessorLacksNamesItsBest) {
  const auto level = ReadCpuLevel("avx2", {CpuLevel::kPlain});
  ASSERT_FALSE(level.ok());
  EXPECT_EQ(level.status().message(),
            "FG_CPU_LEVEL='avx2': this processor lacks it; its best level is plain");
}

TEST(GateSettings, SwitchesAmongThemFollowTheTable) {
  for (const ValueRow& row : kValues) {
    if (!row.text) continue;
    SCOPED_TRACE(*row.text);
    for (const char* name :
         {"FG_PREFILL_GEMM", "FG_CAPTURE", "FG_SYNC_LAUNCH", "FG_CLEAR_OUTPUTS"}) {
      const auto gates = Opened({std::string(name) + "=" + *row.text});
      EXPECT_EQ(gates->peculiar().size(), row.said ? 1u : 0u) << name;
    }
    EXPECT_EQ(Opened({"FG_PREFILL_GEMM=" + *row.text})->settings().prefill_gemm, row.on_promoted);
    EXPECT_EQ(Opened({"FG_CAPTURE=" + *row.text})->settings().capture, row.on_promoted);
    EXPECT_EQ(Opened({"FG_SYNC_LAUNCH=" + *row.text})->settings().sync_launch, row.on_opt_in);
    EXPECT_EQ(Opened({"FG_CLEAR_OUTPUTS=" + *row.text})->settings().clear_outputs, row.on_opt_in);
  }
}

TEST(GateSettings, TheDocumentNamesEachOnce) {
  const auto page = ReadFile(std::string(FG_SOURCE_DIR) + "/docs/gates.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  for (const SettingEntry& setting : SettingTable()) {
    const std::string row = std::string("\n| `") + setting.name + "` | ";
    const size_t at = page->find(row);
    ASSERT_NE(at, std::string::npos) << setting.name;
    EXPECT_EQ(page->find(row, at + 1), std::string::npos) << setting.name;
  }
}

}  // namespace
}  // namespace fg
