#include "gates/matrix.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

const std::vector<std::string> kKinds = {"liveness", "greedy_contrast", "memory_two_way"};

// A small matrix in parts, so that a test can spoil one.
struct Parts {
  std::string version = "version: 1\n";
  std::string models =
      "models:\n"
      "  a: {from: f.gguf, quantize: q4_k_m, sha256: " +
      std::string(64, '1') +
      "}\n"
      "  b: {from: f.gguf, quantize: f16, sha256: " +
      std::string(64, '2') + ", classes: [sm_90]}\n";
  std::string tolerances = "tolerances:\n  near: {value: 0.5, cause: rounding}\n";
  std::string gates =
      "gates:\n"
      "  FG_A:\n"
      "    needs: []\n"
      "    set: {on: {env: 1}, off: {env: 0}}\n"
      "    bits: other\n"
      "    claims: {memory: lower}\n"
      "    may_cost: {prefill: {amount: -60 %, reason: memory}}\n"
      "    live: {\"mmq.*\": \"= w16(q4_K) * prefills\"}\n"
      "    dead: {\"*!\": 0}\n"
      "  FG_B:\n"
      "    needs: [FG_A]\n"
      "    set: {on: {env: 1}, off: {env: 0}}\n"
      "    bits: same\n"
      "    live: {x: \">= 1\"}\n";
  std::string evidence =
      "evidence:\n"
      "  liveness: {models: [a, b], prompts: p, tokens: 4, agreement: bitwise}\n"
      "  greedy_contrast: {models: [a], prompts: p, pins: q, tokens: 32, agreement: bitwise, "
      "timeout: 5 s}\n"
      "  memory_two_way: {models: [a], prompt_tokens: 4, tokens: 2, agreement: {share: near, "
      "slack_mib: near}}\n";
  std::string cells =
      "cells:\n"
      "  liveness: {default: required, FG_A: required, FG_B: {required: [a]}}\n"
      "  greedy_contrast: {default: {not_applicable: because}, FG_A: required, FG_B: {shared_with: "
      "FG_A}}\n"
      "  memory_two_way: {default: required, FG_A: required, FG_B: {shared_with: FG_A}}\n";

  std::string Text() const { return version + models + tolerances + gates + evidence + cells; }
};

Matrix Loaded(const std::string& text, const std::vector<std::string>& kinds = kKinds) {
  auto matrix = Matrix::Parse(text, "m.yaml", kinds);
  EXPECT_TRUE(matrix.ok()) << matrix.status().message();
  return std::move(matrix).value();
}

// The message with its first line's place, without line and caret.
std::string Refused(const std::string& text) {
  const auto matrix = Matrix::Parse(text, "m.yaml", kKinds);
  EXPECT_FALSE(matrix.ok()) << text;
  if (matrix.ok()) return "";
  EXPECT_EQ(matrix.status().kind(), fg::ErrorKind::kUsage);
  return matrix.status().message().substr(0, matrix.status().message().find('\n'));
}

// `from` in the text replaced by `to`; it must be there.
std::string Spoilt(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string RefusedWith(const std::string& from, const std::string& to) {
  return Refused(Spoilt(Parts().Text(), from, to));
}

fg::Result<std::string> NoBlob(const std::string& path) { return "blob of " + path; }

TEST(Matrix, LoadsWhatItSays) {
  const Matrix matrix = Loaded(Parts().Text());
  EXPECT_EQ(matrix.FindModel("a")->quantize, "q4_k_m");
  const GateSpec& gate = *matrix.FindGate("FG_A");
  EXPECT_FALSE(gate.same_bits);
  EXPECT_EQ(gate.set.at("on"), "1");
  EXPECT_EQ(gate.budget.claims.at("memory"), "lower");
  EXPECT_EQ(gate.budget.may_cost.at("prefill").amount, -60);
  EXPECT_EQ(gate.live.at(0).formula.text(), "= w16(q4_K) * prefills");
  EXPECT_EQ(gate.dead.at(0).formula.text(), "= 0");
  EXPECT_EQ(matrix.FindGate("FG_B")->needs, std::vector<std::string>{"FG_A"});
  const EvidenceSpec& evidence = *matrix.FindEvidence("greedy_contrast");
  EXPECT_EQ(evidence.timeout_ms, 5000);
  EXPECT_EQ(evidence.Integer("tokens"), 32);
  EXPECT_EQ(evidence.Text("prompts"), "p");
  EXPECT_EQ(evidence.agreement.at(""), "bitwise")
      << matrix.FindEvidence("memory_two_way")->agreement.at("share");
  EXPECT_EQ(matrix.FindTolerance("near")->value, 0.5);
  EXPECT_EQ(matrix.FindPair("greedy_contrast", "FG_B")->shared_with, "FG_A");
  EXPECT_EQ(matrix.FindPair("greedy_contrast", "default")->reason, "because");
  EXPECT_EQ(matrix.FindPair("greedy_contrast", "FG_C"), nullptr);
  EXPECT_EQ(matrix.FindGate("FG_C"), nullptr);
}

std::vector<std::string> CellTexts(const Matrix& matrix, const std::string& hardware_class) {
  std::vector<std::string> texts;
  for (const CellId& cell : matrix.Cells(hardware_class)) texts.push_back(cell.Text());
  return texts;
}

TEST(Matrix, ExpandsCellsInTheScopeOfAClass) {
  const Matrix matrix = Loaded(Parts().Text());
  EXPECT_EQ(CellTexts(matrix, "cpu"),
            (std::vector<std::string>{"liveness/default/a", "liveness/FG_A/a", "liveness/FG_B/a",
                                      "greedy_contrast/FG_A/a", "memory_two_way/default/a",
                                      "memory_two_way/FG_A/a"}));
  EXPECT_EQ(
      CellTexts(matrix, "sm_90"),
      (std::vector<std::string>{"liveness/default/a", "liveness/default/b", "liveness/FG_A/a",
                                "liveness/FG_A/b", "liveness/FG_B/a", "greedy_contrast/FG_A/a",
                                "memory_two_way/default/a", "memory_two_way/FG_A/a"}));
  const Matrix narrow = Loaded(
      Spoilt(Parts().Text(), "FG_B: {required: [a]}", "FG_B: {required: [a], classes: [cpu]}"));
  EXPECT_EQ(CellTexts(narrow, "sm_90").size(), 7u);
  EXPECT_EQ(CellTexts(narrow, "cpu").size(), 6u);
}

TEST(Matrix, AClassMayHaveABudgetOfItsOwn) {
  const Matrix matrix = Loaded(
      Spoilt(Parts().Text(), "    claims: {memory: lower}\n",
             "    claims: {memory: lower}\n"
             "    classes: {sm_90: {claims: {prefill: slower}, may_cost: {memory: +1600 MiB}}}\n"));
  const GateSpec& gate = *matrix.FindGate("FG_A");
  EXPECT_EQ(gate.Budget("cpu").claims.at("memory"), "lower");
  EXPECT_EQ(gate.Budget("sm_90").claims.at("prefill"), "slower");
  EXPECT_EQ(gate.Budget("sm_90").may_cost.at("memory").unit, "MiB");
  EXPECT_FALSE(gate.Budget("sm_90").claims.contains("memory"));
}

TEST(Matrix, TheHashHoldsWhatIsInScopeAndNothingElse) {
  const std::string text = Parts().Text();
  const auto hash = [](const std::string& yaml, const std::string& hardware_class) {
    return *Loaded(yaml).Hash(hardware_class, NoBlob);
  };
  const std::string cpu = hash(text, "cpu");
  EXPECT_EQ(cpu.size(), 64u);
  EXPECT_EQ(cpu, hash("# words\n" + text, "cpu"));
  EXPECT_NE(cpu, hash(text, "sm_90"));
  // Model b is out of the CPU's scope.
  const std::string other_b = Spoilt(text, std::string(64, '2'), std::string(64, '3'));
  EXPECT_EQ(cpu, hash(other_b, "cpu"));
  EXPECT_NE(hash(text, "sm_90"), hash(other_b, "sm_90"));
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {std::string(64, '1'), std::string(64, '3')},
           {"tokens: 32", "tokens: 31"},
           {"value: 0.5", "value: 0.6"},
           {"* prefills", "* prefills + 1"},
           {"timeout: 5 s", "timeout: 6 s"},
           {"because", "for a reason"},
           {"claims: {memory: lower}", "claims: {memory: flat}"},
           {"FG_B: {required: [a]}", "FG_B: {not_applicable: no}"}}) {
    EXPECT_NE(cpu, hash(Spoilt(text, from, to), "cpu")) << from;
  }
  const auto other_source = Loaded(text).Hash(
      "cpu", [](const std::string&) -> fg::Result<std::string> { return std::string("x"); });
  EXPECT_NE(cpu, *other_source);
}

TEST(Matrix, AMissingSourceIsNamedByTheHash) {
  const auto hash = Loaded(Parts().Text()).Hash("cpu", GitBlobId);
  ASSERT_FALSE(hash.ok());
  EXPECT_EQ(hash.status().message(), "f.gguf: No such file or directory");
}

TEST(Matrix, RefusesWordsItDoesNotKnowWithTheNearest) {
  EXPECT_EQ(RefusedWith("models:\n", "modles:\n"), "m.yaml:1:1: the matrix has no 'models'");
  EXPECT_EQ(RefusedWith("tolerances:", "tolerance:"),
            "m.yaml:5:1: unknown key 'tolerance' in the matrix; did you mean 'tolerances'?");
  EXPECT_EQ(RefusedWith("quantize: q4_k_m", "quantise: q4_k_m"),
            "m.yaml:3:6: models.a has no 'quantize'");
  EXPECT_EQ(RefusedWith("needs: [FG_A]", "needs: [FG_AA]"),
            "m.yaml:17:13: unknown gate 'FG_AA' in gates.FG_B.needs; did you mean 'FG_A'?");
  EXPECT_EQ(RefusedWith("needs: [FG_A]", "needs: [FG_B]"),
            "m.yaml:17:13: unknown gate 'FG_B' in gates.FG_B.needs; did you mean 'FG_A'?");
  EXPECT_EQ(RefusedWith("  liveness: {models", "  livenes: {models"),
            "m.yaml:22:3: unknown kind of evidence 'livenes'; did you mean 'liveness'?");
  EXPECT_EQ(RefusedWith("models: [a, b]", "models: [a, c_model]"),
            "m.yaml:22:26: unknown model 'c_model' in evidence.liveness.models");
  EXPECT_EQ(
      RefusedWith("share: near", "share: nearr"),
      "m.yaml:24:81: unknown tolerance 'nearr' in evidence.memory_two_way.agreement.share; did "
      "you mean 'near'?");
  EXPECT_EQ(RefusedWith("tokens: 32", "token: 32"),
            "m.yaml:23:20: evidence.greedy_contrast has no 'tokens'");
  EXPECT_EQ(RefusedWith("tokens: 32", "tokens: 32, threads: [1]"),
            "m.yaml:23:67: unknown key 'threads' in evidence.greedy_contrast");
  EXPECT_EQ(RefusedWith("FG_A: required, FG_B: {shared", "FG_AB: required, FG_B: {shared"),
            "m.yaml:27:57: unknown gate 'FG_AB' in cells.greedy_contrast; did you mean 'FG_A'?");
  EXPECT_EQ(RefusedWith("* prefills", "* prefils"),
            "m.yaml:14:21: gates.FG_A.live of 'mmq.*': column 15: unknown name 'prefils'; did you "
            "mean 'prefills'?");
  EXPECT_EQ(RefusedWith("{memory: lower}", "{memroy: lower}"),
            "m.yaml:12:14: unknown metric 'memroy' in gates.FG_A.claims; did you mean 'memory'?");
}

TEST(Matrix, RefusesWhatStandsTwice) {
  EXPECT_EQ(RefusedWith("  FG_B:\n", "  FG_A:\n"),
            "m.yaml:16:3: the key 'FG_A' stands twice; first on line 8");
  EXPECT_EQ(RefusedWith("models: [a, b]", "models: [a, a]"),
            "m.yaml:22:26: 'a' stands twice in evidence.liveness.models");
  EXPECT_EQ(RefusedWith("  greedy_contrast: {default", "  liveness: {default"),
            "m.yaml:27:3: the key 'liveness' stands twice; first on line 26");
  EXPECT_EQ(RefusedWith("off: {env: 0}", "off: {env: 1}"),
            "m.yaml:10:36: gates.FG_A.set: on and off are the same setting '1'");
}

TEST(Matrix, ABlankPairIsAnErrorThatNamesIt) {
  EXPECT_EQ(RefusedWith(", FG_B: {required: [a]}", ""),
            "m.yaml:26:13: cells says nothing of liveness/FG_B: write required, {shared_with: "
            "GATE} or {not_applicable: REASON}");
  EXPECT_EQ(RefusedWith("default: required, ", ""),
            "m.yaml:26:13: cells says nothing of liveness/default: write required, {shared_with: "
            "GATE} or {not_applicable: REASON}");
  Parts parts;
  parts.cells.resize(parts.cells.find("  memory_two_way"));
  EXPECT_EQ(Refused(parts.Text()),
            "m.yaml:26:3: cells says nothing of memory_two_way: each kind of evidence has a row");
  EXPECT_EQ(RefusedWith("default: required", "default: yes"),
            "m.yaml:26:23: liveness/default must be required, {shared_with: GATE} or "
            "{not_applicable: REASON}, is 'yes'");
}

TEST(Matrix, ASharedPairLeansOnARequiredOne) {
  EXPECT_EQ(
      RefusedWith("shared_with: FG_A", "shared_with: default"),
      "m.yaml:27:79: greedy_contrast/FG_B is shared with default, whose own pair is not required");
  EXPECT_EQ(
      RefusedWith("shared_with: FG_A", "shared_with: FG_B"),
      "m.yaml:27:79: greedy_contrast/FG_B is shared with FG_B, whose own pair is not required");
  EXPECT_EQ(RefusedWith("shared_with: FG_A", "shared_with: FG_X"),
            "m.yaml:27:79: greedy_contrast/FG_B is shared with 'FG_X', which is no gate; did you "
            "mean 'FG_A'?");
  EXPECT_EQ(RefusedWith("{shared_with: FG_A}", "{shared_with: FG_A, not_applicable: both}"),
            "m.yaml:27:79: cells.greedy_contrast.FG_B must say one of required, shared_with and "
            "not_applicable");
  EXPECT_EQ(RefusedWith("{required: [a]}", "{required: []}"),
            "m.yaml:26:66: cells.liveness.FG_B.required holds no model");
  EXPECT_EQ(RefusedWith("{not_applicable: because}", "{not_applicable: \"\"}"),
            "m.yaml:27:47: cells.greedy_contrast.default.not_applicable must not be empty");
}

TEST(Matrix, RequiredEvidenceSaysHowItIsMeasured) {
  Parts parts;
  parts.evidence =
      "evidence:\n  liveness: {models: [a], prompts: p, tokens: 4, agreement: bitwise}\n";
  EXPECT_EQ(
      Refused(parts.Text()),
      "m.yaml:25:63: greedy_contrast/FG_A is required, but evidence has no 'greedy_contrast'");
}

TEST(Matrix, AToleranceHasACauseAndIsNamed) {
  EXPECT_EQ(RefusedWith("{value: 0.5, cause: rounding}", "0.5"),
            "m.yaml:6:9: tolerances.near must be a map of value and cause, not a bare number");
  EXPECT_EQ(RefusedWith(", cause: rounding", ""), "m.yaml:6:9: tolerances.near has no 'cause'");
  EXPECT_EQ(RefusedWith("share: near", "share: 0.001"),
            "m.yaml:24:81: evidence.memory_two_way.agreement.share is a bare number; name a "
            "tolerance that says its cause");
  EXPECT_EQ(
      RefusedWith("share: near", "share: bitwise"),
      "m.yaml:24:81: evidence.memory_two_way.agreement.share must name a tolerance: nothing is "
      "compared bit for bit there");
  EXPECT_EQ(RefusedWith("agreement: bitwise, timeout", "agreement: near, timeout"),
            "m.yaml:23:78: evidence.greedy_contrast.agreement must be bitwise: no tolerance is "
            "applied there");
  EXPECT_EQ(RefusedWith("{share: near, slack_mib: near}", "near"),
            "m.yaml:24:73: evidence.memory_two_way.agreement must be a map of share, slack_mib");
  EXPECT_EQ(RefusedWith("{share: near, slack_mib: near}", "{share: near}"),
            "m.yaml:24:73: evidence.memory_two_way.agreement has no 'slack_mib'");
  EXPECT_EQ(RefusedWith("agreement: bitwise, timeout", "timeout"),
            "m.yaml:23:3: evidence.greedy_contrast.agreement is missing: bitwise, or the name of a "
            "tolerance");
  for (const char* bad : {"1_000", "0o17", ".inf", ".nan"}) {
    EXPECT_EQ(RefusedWith("value: 0.5", fmt::format("value: {}", bad)),
              fmt::format("m.yaml:6:17: tolerances.near.value must be a finite decimal number such "
                          "as 0.5 or 1e-6, is '{}'",
                          bad));
  }
  EXPECT_EQ(RefusedWith("value: 0.5", "value: -1"),
            "m.yaml:6:17: tolerances.near.value must not be negative");
}

TEST(Matrix, ReadsItsOwnVersionOnly) {
  EXPECT_EQ(RefusedWith("version: 1", "version: 2"),
            "m.yaml:1:10: this program reads version 1 of the matrix, not 2");
  EXPECT_EQ(RefusedWith("version: 1", "version: 1.10"),
            "m.yaml:1:10: version must be a whole number in plain digits, is '1.10'");
  EXPECT_EQ(RefusedWith("version: 1", "version: 1_0"),
            "m.yaml:1:10: version must be a whole number in plain digits, is '1_0'");
  EXPECT_EQ(RefusedWith("version: 1\n", ""), "m.yaml:1:1: the matrix has no 'version'");
}

TEST(Matrix, WordsOfTruthAreNoNames) {
  // Elsewhere `no` becomes false; here it is text, and text that no gate, kind or model bears is
  // refused.
  EXPECT_EQ(RefusedWith("  FG_B:\n", "  no:\n"),
            "m.yaml:16:3: 'no' is no name of a gate: a variable in capitals");
  EXPECT_EQ(RefusedWith("models: [a, b]", "models: [a, off]"),
            "m.yaml:22:26: unknown model 'off' in evidence.liveness.models");
  EXPECT_EQ(
      RefusedWith("  liveness: {default: required", "  liveness: {on: required, default: required"),
      "m.yaml:26:14: unknown gate 'on' in cells.liveness");
  EXPECT_EQ(RefusedWith("bits: same", "bits: y"),
            "m.yaml:19:11: gates.FG_B.bits must be same or other");
  EXPECT_EQ(RefusedWith("on: {env: 1}", "on: {env: 1}, default: {env: 2}"),
            "m.yaml:10:25: 'default' is a reserved row and no name of a setting");
}

TEST(Matrix, RefusesNamesThatBreakCellIds) {
  EXPECT_EQ(
      RefusedWith("  a: {from", "  a/b: {from"),
      "m.yaml:3:3: 'a/b' is no name of a model: letters, digits, '_', '-' and '.', at most 64");
  EXPECT_EQ(RefusedWith("  a: {from", "  default: {from"),
            "m.yaml:3:3: 'default' is a reserved row and no name of a model");
  EXPECT_EQ(RefusedWith("from: f.gguf", "from: ../f.gguf"),
            "m.yaml:3:13: models.a.from must be a path inside the project, is '../f.gguf'");
  EXPECT_EQ(RefusedWith("from: f.gguf", "from: /f.gguf"),
            "m.yaml:3:13: models.a.from must be a path inside the project, is '/f.gguf'");
  EXPECT_EQ(RefusedWith("sha256: 1111", "sha256: X111").substr(0, 72),
            "m.yaml:3:47: models.a.sha256 must be 64 lower-case hexadecimal digits, i");
}

TEST(Matrix, RefusesBudgetsThatCannotBeMeant) {
  EXPECT_EQ(RefusedWith("{memory: lower}", "{memory: faster}"),
            "m.yaml:12:22: gates.FG_A.claims.memory must be one of lower, flat, higher");
  EXPECT_EQ(
      RefusedWith("{amount: -60 %, reason: memory}", "-60 %"),
      "m.yaml:13:25: gates.FG_A.may_cost.prefill is a loss; write {amount: ..., reason: ...}");
  for (const char* bad : {"60 %", "+60", "+x MiB", "+60 GB", "+-6 MiB", "+1_000 MiB"}) {
    EXPECT_EQ(RefusedWith("amount: -60 %", fmt::format("amount: {}", bad)),
              fmt::format("m.yaml:13:34: gates.FG_A.may_cost.prefill must be an amount such as "
                          "\"+1600 MiB\" or \"-60 %\", is '{}'",
                          bad));
  }
}

TEST(Matrix, AGateWithoutALiveLabelIsRefused) {
  EXPECT_EQ(RefusedWith("    live: {x: \">= 1\"}\n", ""),
            "m.yaml:17:5: gates.FG_B has no 'live': no label would show that it works");
}

TEST(Matrix, GitBlobIdIsGits) {
  const std::string path = fg::ProcessTempDir() + "matrix_test_blob";
  ASSERT_TRUE(fg::WriteFileAtomic(path, "hello\n").ok());
  EXPECT_EQ(*GitBlobId(path), "ce013625030ba8dba906f756967f9e9ca394464a");
}

const std::vector<std::string> kAll = {
    "parity",  "greedy_contrast", "lattice",       "quality",     "liveness",
    "optout",  "decode_neutral",  "reuse_neutral", "mixed_quant", "backstop",
    "readers", "memory_two_way",  "determinism",   "sanitizer"};

TEST(Matrix, TheProjectsOwnLoadsAndStatesEveryPair) {
  const auto matrix =
      Matrix::Load(std::string(FG_SOURCE_DIR) + "/gates/matrix.yaml", "gates/matrix.yaml", kAll);
  ASSERT_TRUE(matrix.ok()) << matrix.status().message();
  EXPECT_EQ(matrix->pairs().size(), 14u * 9u);
  EXPECT_EQ(matrix->Rows(),
            (std::vector<std::string>{"default", "FG_MMQ", "FG_MMQ_RAW", "FG_MMQ_RAW_NB",
                                      "FG_MMQ_A_TRANSPOSE", "FG_MMQ_Q6K_NB", "FG_MMQ_A_FUSE",
                                      "FG_MMQ_Q6K_EXP", "FG_MMQ_Q4K_DSC"}));
  EXPECT_GT(matrix->Cells("cpu").size(), 80u);
  EXPECT_FALSE(matrix->KindInScope("sanitizer", "cpu"));
  EXPECT_EQ(matrix->Rows("sm_90"), std::vector<std::string>{"default"});
  for (const CellId& cell : matrix->Cells("sm_90")) EXPECT_EQ(cell.gate, "default");
  EXPECT_EQ(matrix->Class("sm_90")->cells, 1);
  EXPECT_EQ(matrix->FindEvidence("parity", "sm_90")->agreement.at("ops"), "float64_ops");
  EXPECT_EQ(matrix->FindEvidence("parity", "cpu")->agreement.at("ops"), "bitwise");
  EXPECT_EQ(matrix->FindGate("FG_MMQ_A_FUSE")->set,
            (std::map<std::string, std::string>{{"on", "2"}, {"mode1", "1"}, {"off", "0"}}));
  for (const std::string other : {"FG_MMQ", "FG_MMQ_Q6K_NB"}) {
    EXPECT_FALSE(matrix->FindGate(other)->same_bits);
    EXPECT_EQ(matrix->FindPair("quality", other)->status, PairSpec::Status::kRequired);
  }
}

TEST(Matrix, AModelMayBeSynthetic) {
  const std::string from = "{from: f.gguf, quantize: q4_k_m,";
  const auto with = [&](const std::string& synth) {
    return Spoilt(Parts().Text(), from, "{synth: " + synth + ",");
  };
  const Matrix matrix = Loaded(with("{shape: narrow, mix: q4_0, seed: 7}"));
  EXPECT_TRUE(matrix.FindModel("a")->synthetic());
  EXPECT_EQ(matrix.FindModel("a")->Source(), "shape narrow, seed 7");
  EXPECT_EQ(matrix.FindModel("a")->quantize, "q4_0");
  EXPECT_EQ(matrix.FindModel("b")->Source(), "f.gguf");
  EXPECT_NE(*matrix.Hash("cpu", NoBlob),
            *Loaded(with("{shape: narrow, mix: q4_0, seed: 8}")).Hash("cpu", NoBlob));
  EXPECT_EQ(Refused(with("{shape: narrow, mix: q4_0}")),
            "m.yaml:3:14: models.a.synth has no 'seed'");
  EXPECT_EQ(Refused(with("{shape: narrow, mix: q4_0, seed: -1}")),
            "m.yaml:3:47: models.a.synth.seed must not be negative");
  EXPECT_EQ(Refused(with("{shape: narrow, mix: q4_0, seed: 1}, from: f.gguf")),
            "m.yaml:3:51: unknown key 'from' in models.a");
}

TEST(Matrix, PathsAreCountedForEachModelOfTheKind) {
  Parts parts;
  const std::string lattice =
      "  lattice: {models: [a, b], prompts: p, tokens: 1, threads: [1], pins: q, agreement: "
      "bitwise, ";
  const std::vector<std::string> kinds = {"liveness", "greedy_contrast", "memory_two_way",
                                          "lattice"};
  const auto text = [&](const std::string& rest) {
    Parts with = parts;
    with.evidence += lattice + rest + "}\n";
    with.cells +=
        "  lattice: {default: required, FG_A: {not_applicable: x}, FG_B: {shared_with: default}}\n";
    return with.Text();
  };
  const Matrix matrix = Loaded(text("only: [x, y], distinct_paths: {a: 20, b: 2}"), kinds);
  EXPECT_EQ(matrix.FindEvidence("lattice")->fields["distinct_paths"],
            (fg::Json{{"a", 20}, {"b", 2}}));
  EXPECT_EQ(matrix.FindEvidence("lattice")->fields["only"], (fg::Json{"x", "y"}));
  const auto refused = [&](const std::string& rest) {
    const auto wrong = Matrix::Parse(text(rest), "m.yaml", kinds);
    EXPECT_FALSE(wrong.ok()) << rest;
    const std::string message = wrong.ok() ? "" : wrong.status().message();
    return message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(refused("distinct_paths: {a: 20}"),
            "m.yaml:25:111: evidence.lattice.distinct_paths says nothing of b");
  EXPECT_EQ(refused("distinct_paths: {a: 20, b: 2, other: 3}"),
            "m.yaml:25:125: unknown model 'other' in evidence.lattice.distinct_paths");
  EXPECT_EQ(refused("distinct_paths: {a: 0, b: 2}"),
            "m.yaml:25:115: evidence.lattice.distinct_paths.a must be at least 1");
  EXPECT_EQ(refused("distinct_paths: {a: 1, b: 2}, only: []"),
            "m.yaml:25:131: evidence.lattice.only must not be empty");
}

// The small matrix with classes, gate FG_B on one of them alone, and a kind that differs there.
std::string ClassedText() {
  std::string text = Spoilt(Parts().Text(), "version: 1\n",
                            "version: 1\nclasses:\n  cpu: {probe: [probe]}\n  sm_90: {probe: "
                            "[probe, --device, cuda], device: cuda, cells: 1, engines: 3}\n");
  text = Spoilt(text, "    needs: [FG_A]\n", "    scope: [cpu]\n    needs: [FG_A]\n");
  text = Spoilt(text, "  liveness: {models: [a, b], prompts: p, tokens: 4, agreement: bitwise}\n",
                "  liveness: {models: [a], prompts: p, tokens: 4, agreement: bitwise, classes: "
                "{sm_90: {models: [b], tokens: 9, timeout: 7 s}}}\n");
  return Spoilt(text, "  greedy_contrast: {models", "  greedy_contrast: {scope: [cpu], models");
}

TEST(Matrix, AClassSaysHowItsEnginesRun) {
  const Matrix matrix = Loaded(ClassedText());
  const auto device = matrix.Class("sm_90");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ(device->probe, (std::vector<std::string>{"probe", "--device", "cuda"}));
  EXPECT_EQ(device->device, "cuda");
  EXPECT_EQ(device->cells, 1);
  EXPECT_EQ(device->engines, 3);
  EXPECT_EQ(matrix.Class("cpu")->cells, 0);
  EXPECT_EQ(matrix.Class("sm_91").status().message(),
            "the matrix declares no class 'sm_91'; did you mean 'sm_90'?; its classes are cpu, "
            "sm_90");
  EXPECT_EQ(Loaded(Parts().Text()).Class("any")->probe, std::vector<std::string>{"probe"});
  const auto refused = [](const std::string& from, const std::string& to) {
    return Refused(Spoilt(ClassedText(), from, to));
  };
  EXPECT_EQ(refused("cells: 1,", "cells: 0,"),
            "m.yaml:4:64: classes.sm_90.cells must be at least 1");
  EXPECT_EQ(refused("cpu: {probe: [probe]}", "cpu: {probe: []}"),
            "m.yaml:3:16: classes.cpu.probe must not be empty");
  EXPECT_EQ(refused("scope: [cpu]\n", "scope: [cpi]\n"),
            "m.yaml:20:13: unknown hardware class 'cpi' in gates.FG_B.scope; did you mean 'cpu'?");
  EXPECT_EQ(refused("{sm_90: {models: [b]", "{sm_9: {models: [b]"),
            "m.yaml:26:80: unknown hardware class 'sm_9' in evidence.liveness.classes; did you "
            "mean 'sm_90'?");
}

TEST(Matrix, ScopeAndClassesChangeWhatAClassSees) {
  const Matrix matrix = Loaded(ClassedText());
  EXPECT_EQ(CellTexts(matrix, "sm_90"),
            (std::vector<std::string>{"liveness/default/b", "liveness/FG_A/b",
                                      "memory_two_way/default/a", "memory_two_way/FG_A/a"}));
  EXPECT_EQ(CellTexts(matrix, "cpu"),
            (std::vector<std::string>{"liveness/default/a", "liveness/FG_A/a", "liveness/FG_B/a",
                                      "greedy_contrast/FG_A/a", "memory_two_way/default/a",
                                      "memory_two_way/FG_A/a"}));
  EXPECT_EQ(matrix.Rows("sm_90"), (std::vector<std::string>{"default", "FG_A"}));
  EXPECT_EQ(matrix.FindEvidence("liveness", "sm_90")->Integer("tokens"), 9);
  EXPECT_EQ(matrix.FindEvidence("liveness", "sm_90")->timeout_ms, 7000);
  EXPECT_EQ(matrix.FindEvidence("liveness", "sm_90")->Text("prompts"), "p");
  EXPECT_EQ(matrix.FindEvidence("liveness", "cpu")->Integer("tokens"), 4);
  // What one class sees does not count for another.
  const Matrix other = Loaded(Spoilt(ClassedText(), "tokens: 9", "tokens: 10"));
  EXPECT_EQ(*matrix.Hash("cpu", NoBlob), *other.Hash("cpu", NoBlob));
  EXPECT_NE(*matrix.Hash("sm_90", NoBlob), *other.Hash("sm_90", NoBlob));
  EXPECT_EQ(Refused(Spoilt(ClassedText(), "tokens: 9", "prompt: 9")).substr(0, 34),
            "m.yaml:26:101: unknown key 'prompt");
}

TEST(Matrix, AnAspectStandsWithItsField) {
  const std::vector<std::string> kinds = {"parity"};
  const auto text = [](const std::string& rest) {
    const Parts parts;
    return parts.version + parts.models + parts.tolerances + parts.gates +
           "evidence:\n  parity: {models: [a], ops: o, pins: p, " + rest + "}\n" +
           "cells: {parity: {default: required, FG_A: required, FG_B: required}}\n";
  };
  const std::string with = "agreement: {ops: near, logits: near, layers: near}";
  EXPECT_TRUE(Matrix::Parse(text("against: cpu, " + with), "m.yaml", kinds).ok());
  for (const std::string& rest :
       {with, std::string("against: cpu, agreement: {ops: near, logits: near}")}) {
    const auto wrong = Matrix::Parse(text(rest), "m.yaml", kinds);
    ASSERT_FALSE(wrong.ok());
    EXPECT_NE(wrong.status().message().find(
                  "evidence.parity: agreement.layers and against stand together or not at all"),
              std::string::npos)
        << wrong.status().message();
  }
}

}  // namespace
}  // namespace flipgate
