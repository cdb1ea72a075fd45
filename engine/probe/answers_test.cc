#include "engine/probe/answers.h"

#include <gtest/gtest.h>

#include "engine/gates_defaults.h"
#include "engine/testing/fake_device.h"

namespace fg {
namespace {

Gates Opened(const std::vector<std::string>& environment) {
  return Gates::FromEnvironment(environment, "other", nullptr).value();
}

TEST(Answers, GatesSayWhatTheRegistryResolved) {
  const Json gates = GatesJson(Opened({"FG_MMQ=off", "FG_MMQ_A_FUSE=1"}));
  ASSERT_EQ(gates.size(), static_cast<size_t>(kGates));
  EXPECT_EQ(gates[0], Json::parse(R"({"name": "FG_MMQ", "kind": "switch", "stage": "opt_in",
      "bits": "other", "needs": [], "env": "off", "value": "1"})"));
  EXPECT_EQ(gates[2], Json::parse(R"({"name": "FG_MMQ_RAW_NB", "kind": "switch",
      "stage": "opt_in", "bits": "same", "needs": ["FG_MMQ", "FG_MMQ_RAW"], "env": null,
      "value": "0"})"));
  EXPECT_EQ(gates[5], Json::parse(R"({"name": "FG_MMQ_A_FUSE", "kind": "mode",
      "stage": "opt_in", "bits": "same", "needs": ["FG_MMQ", "FG_MMQ_RAW", "FG_MMQ_RAW_NB",
      "FG_MMQ_A_TRANSPOSE", "FG_MMQ_Q6K_NB"], "env": "1", "value": "1",
      "modes": ["0", "1", "2"]})"));
}

TEST(Answers, HelloHoldsEveryFieldOfTheProtocol) {
  const Json hello =
      HelloJson(Opened({"FG_MQM=1", "FG_CPU_LEVEL=plain", "FG_THREADS=3", "FG_FAULT=nan_logits"}));
  EXPECT_EQ(hello["protocol"], 1);
  EXPECT_EQ(hello["engine"], "fg-engine");
  EXPECT_EQ(hello["build"]["defaults_hash"], DefaultsHash(DefaultsOf("other")));
  EXPECT_EQ(hello["build"]["sha256"], RunningProgramSha256());
  EXPECT_EQ(hello["build"]["toolchain"]["toolkit"], "");
  EXPECT_EQ(hello["build"]["toolchain"]["architectures"], Json::array());
  EXPECT_EQ(hello["device"]["class"], "other");
  EXPECT_EQ(hello["device"]["level"], "plain");
  EXPECT_EQ(hello["device"]["levels"][0], "plain");
  EXPECT_EQ(hello["device"]["threads"], 3);
  EXPECT_GT(hello["device"]["memory_bytes"], 0);
  EXPECT_FALSE(hello["device"]["name"].get<std::string>().empty());
  EXPECT_EQ(hello["settings"], Json::parse(R"({"FG_CPU_LEVEL": "plain", "FG_THREADS": "3",
      "FG_FAULT": "nan_logits"})"));
  EXPECT_EQ(hello["faults"], Json::array({"nan_logits"}));
  EXPECT_EQ(hello["peculiar"], Json::parse(R"([{"variable": "FG_MQM", "value": "1", "message":
      "FG_MQM is no gate and no setting; it does nothing; did you mean 'FG_MMQ'?",
      "nearest": "FG_MMQ"}])"));
  EXPECT_EQ(hello["capabilities"], Json::parse(R"(["load", "generate", "score", "bench", "op",
      "ledger", "memory", "reset", "argmax"])"));
}

TEST(Answers, HelloOnADeviceSaysWhatItIs) {
  const testing::FakeDevice device("sm_80", "13.1.0");
  const auto hello = [&](const std::vector<std::string>& environment) {
    const Gates gates = Gates::FromEnvironment(environment, "sm_80", nullptr).value();
    return HelloJson(gates, &device.info());
  };
  const Json plain = hello({"FG_THREADS=3"});
  EXPECT_EQ(plain["device"], Json::parse(R"({"class": "sm_80", "name": "Fake Device",
      "driver": "1.2.3", "memory_bytes": 1048576000, "threads": 3, "multiprocessors": 7,
      "capability": "sm_90", "native": true, "cublaslt": "13.1.0"})"));
  EXPECT_EQ(plain["build"]["toolchain"]["toolkit"], "13.0");
  EXPECT_EQ(plain["build"]["toolchain"]["architectures"], Json::parse(R"(["90a", "80"])"));
  EXPECT_EQ(plain["build"]["defaults_hash"], DefaultsHash(DefaultsOf("sm_80")));
  EXPECT_EQ(plain["capabilities"], Json::parse(R"(["load", "generate", "score", "bench", "op",
      "ledger", "memory", "reset", "argmax", "capture"])"));
  for (const char* off : {"FG_CAPTURE=0", "FG_SYNC_LAUNCH=1"}) {
    EXPECT_EQ(hello({off})["capabilities"].back(), "argmax") << off;
  }
}

TEST(Answers, AnErrorsKernelIsTheOneItsMessageBlames) {
  EXPECT_EQ(KernelOf("kernel attention.many: an illegal address"), "attention.many");
  EXPECT_EQ(KernelOf("m.gguf: layer 3: kernel gemm.f16.q4_K 96x64: too large"),
            "gemm.f16.q4_K 96x64");
  EXPECT_EQ(KernelOf("a kernel before this wait failed: unknown"), "");
  EXPECT_EQ(KernelOf("the kernel embed: no"), "");
  EXPECT_EQ(KernelOf("kernel without an end"), "");
  EXPECT_EQ(KernelOf(""), "");
}

TEST(Answers, BuildSaysWhatItIsGiven) {
  BuildInfo build = {"1.2.3", "c", "e", "r", false, "GNU 12", "-O3"};
  EXPECT_EQ(BuildJson(build, "d", "s"), Json::parse(R"({"version": "1.2.3", "commit": "c",
      "engine_hash": "e", "defaults_hash": "d", "dirty": false, "recipe": "r", "sha256": "s",
      "toolchain": {"compiler": "GNU 12", "flags": "-O3", "toolkit": "", "architectures": []}})"));
}

TEST(Answers, LoadSaysPlanesAndTheMode) {
  const LoadReport report = {{{"scales", "q4_K", "FG_MMQ_Q4K_DSC", 30, 1187840}}, true, 2, 1};
  EXPECT_EQ(PlanesJson(report), Json::parse(R"([{"plane": "scales", "type": "q4_K",
      "gate": "FG_MMQ_Q4K_DSC", "weights": 30, "bytes": 1187840}])"));
  EXPECT_EQ(FuseModeJson(report), Json::parse(R"({"asked": "2", "mode": "1"})"));
  EXPECT_EQ(PlanesJson({}), Json::array());
}

TEST(Answers, LedgerSaysEveryCount) {
  Ledger ledger;
  ledger.CountForward(Phase::kPrefill);
  ledger.CountForward(Phase::kDecode);
  ledger.CountForward(Phase::kDecode);
  ledger.CountDispatch(Phase::kPrefill, "matmul", "mmq.q4_K.nb");
  ledger.CountLaunch(Phase::kDecode);
  ledger.CountGateRead("FG_MMQ", Phase::kLoad);
  ledger.CountGraph(false, "bb");
  ledger.CountGraph(true, "aa");
  ledger.CountPlane(false);
  ledger.CountPlane(true);
  ledger.AddDegradation({"x", "y", "z"});
  ledger.AddRefusal("no");
  ledger.CountCapture();
  ledger.CountReplay();
  ledger.CountReplay();
  EXPECT_EQ(LedgerJson(ledger.Take()), Json::parse(R"({
      "forwards": {"prefill": 1, "decode": 2},
      "dispatch": [{"phase": "prefill", "op": "matmul", "label": "mmq.q4_K.nb", "count": 1}],
      "launches": {"load": 0, "graph": 0, "prefill": 0, "decode": 1},
      "gate_reads": [{"gate": "FG_MMQ", "phase": "load", "count": 1}],
      "degradations": [{"from": "x", "to": "y", "reason": "z"}], "refusals": ["no"],
      "graphs": {"built": 1, "reused": 1, "identities": ["aa", "bb"]},
      "captures": 1, "replays": 2, "plane_cache": {"hits": 1, "misses": 1}})"));
}

TEST(Answers, MemorySaysEveryCategory) {
  MemoryBook book;
  book.Add(MemoryCategory::kWeights, 7, true);
  book.Add(MemoryCategory::kKv, 5);
  book.Remove(MemoryCategory::kKv, 2);
  const Json none = {{"now", 0}, {"peak", 0}, {"file_backed", false}};
  EXPECT_EQ(MemoryJson(book, {1, 2, 3}),
            (Json{{"categories",
                   {{"weights", {{"now", 7}, {"peak", 7}, {"file_backed", true}}},
                    {"planes", none},
                    {"f16_cache", none},
                    {"kv", {{"now", 3}, {"peak", 5}, {"file_backed", false}}},
                    {"scratch", none},
                    {"graph", none}}},
                  {"system", {{"anonymous", 1}, {"file_backed", 2}, {"peak_resident", 3}}}}));
  EXPECT_EQ(MemoryJson(book, {1, 2, 3}, DeviceMemory{9, 5, 4})["device"],
            Json::parse(R"({"total": 9, "used": 5, "used_before": 4})"));
}

}  // namespace
}  // namespace fg
