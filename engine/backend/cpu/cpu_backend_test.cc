#include "engine/backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "engine/testing/test_engine.h"
#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using testing::GatesOf;
using testing::TinyModelBytes;
using testing::TinyModelSpec;

// A backend on the tiny model, without the engine around it.
struct Loaded {
  explicit Loaded(const std::vector<std::string>& environment = {}, const TinyModelSpec& spec = {})
      : bytes(TinyModelBytes(spec)),
        file(GgufFile::Parse(std::as_bytes(std::span(bytes))).value()),
        model(ReadHyperparameters(file).value()),
        weights(ModelWeights::Read(file, model.shape).value()),
        gates(GatesOf(environment, &ledger)),
        backend(gates, &ledger, &memory) {
    status = backend.LoadModel(model, weights, {.context = 64, .batch = 32, .poison = true});
    if (status.ok()) kv = backend.NewKvCache().value();
  }

  // Logits of `tokens` from `position` on, by `graph`; empty after an error.
  std::vector<float> Run(Graph graph, const std::vector<int32_t>& tokens, int32_t position) {
    auto prepared = backend.Prepare(std::move(graph));
    if (!prepared.ok()) return {};
    std::vector<int32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), position);
    std::vector<float> logits((*prepared)->graph().params.wanted * 261, -1.0f);
    const Status ran =
        backend.Execute(**prepared, {tokens.data(), positions.data(), kv.get(), logits.data(),
                                     nullptr, PhaseOfRows(static_cast<int64_t>(tokens.size()))});
    return ran.ok() ? logits : std::vector<float>{};
  }
  Graph Build(int64_t rows, int64_t wanted) { return BuildGraph({model.shape, rows, wanted}); }

  std::string bytes;
  GgufFile file;
  Hyperparameters model;
  ModelWeights weights;
  Ledger ledger;
  MemoryBook memory;
  Gates gates;
  CpuBackend backend;
  Status status;
  std::unique_ptr<KvCache> kv;
};

int NanCount(const std::vector<float>& values) {
  int count = 0;
  for (const float value : values) count += std::isnan(value) ? 1 : 0;
  return count;
}

TEST(CpuBackend, RunsAGraph) {
  Loaded loaded;
  ASSERT_TRUE(loaded.status.ok()) << loaded.status.message();
  const std::vector<float> logits = loaded.Run(loaded.Build(3, 2), {1, 2, 3}, 0);
  EXPECT_EQ(logits.size(), 2u * 261);
  EXPECT_EQ(NanCount(logits), 0);
}

// What poison is for: each of these reads what nobody wrote.
TEST(CpuBackend, PoisonShowsReadsOfWhatNobodyWrote) {
  Loaded skipped;
  EXPECT_EQ(NanCount(skipped.Run(skipped.Build(1, 1), {1}, 5)),
            261);  // positions 0 to 4 are missing
  Loaded past;
  Graph graph = past.Build(20, 1);
  for (Node& node : graph.nodes) {
    if (node.op == GraphOp::kGather) node.first_row += 1;  // one row beyond the residual's last
  }
  EXPECT_EQ(NanCount(past.Run(graph, std::vector<int32_t>(20, 1), 0)), 261);
}

// Sees every node: its label, and how many of its values nobody wrote.
class Watcher : public NodeObserver {
 public:
  struct Seen {
    std::string op, label;
    int64_t values = 0, nan = 0;
  };
  Status BeginForward(int64_t forward, const Graph& graph, Phase phase) override {
    said.push_back("begin " + std::to_string(forward) + " " + std::to_string(graph.nodes.size()) +
                   " " + PhaseName(phase));
    nodes.clear();
    return Status::Ok();
  }
  Status AfterNode(const NodeRun& run) override {
    EXPECT_EQ(run.index, static_cast<int>(nodes.size()));
    EXPECT_EQ(run.values == nullptr, run.node.columns == 0);
    EXPECT_GE(run.seconds, 0);
    Seen seen = {GraphOpName(run.node.op), run.label};
    if (run.values != nullptr) seen.values = run.node.rows * run.node.columns;
    for (int64_t i = 0; i < seen.values; ++i) seen.nan += std::isnan(run.values[i]) ? 1 : 0;
    nodes.push_back(seen);
    return run.index == fail_at ? Status(ErrorKind::kIo, "disk full") : Status::Ok();
  }
  Status EndForward() override {
    said.push_back("end");
    return Status::Ok();
  }
  std::vector<std::string> said;
  std::vector<Seen> nodes;
  int fail_at = -1;
};

const std::vector<std::string> kFull = {
    "FG_MMQ=1",        "FG_MMQ_RAW=1",     "FG_MMQ_RAW_NB=1", "FG_MMQ_A_TRANSPOSE=1",
    "FG_MMQ_Q6K_NB=1", "FG_MMQ_Q6K_EXP=1", "FG_MMQ_Q4K_DSC=1"};

std::vector<std::string> InMode(int mode, const char* more = "FG_THREADS=1") {
  std::vector<std::string> environment = kFull;
  environment.push_back("FG_MMQ_A_FUSE=" + std::to_string(mode));
  environment.push_back(more);
  return environment;
}

std::vector<int32_t> Tokens(size_t count) {
  std::vector<int32_t> tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = static_cast<int32_t>(i * 7 % 256);
  return tokens;
}

// Mode 2 really leaves the f32 rows unwritten: the pool was poisoned before and still is.
TEST(CpuBackend, Mode2LeavesTheRowsOfTheWindowUnwritten) {
  const TinyModelSpec spec = testing::WideSpec(TensorType::kQ4_K);
  for (const int mode : {0, 1, 2}) {
    Loaded loaded(InMode(mode), spec);
    Watcher watcher;
    loaded.backend.Observe(&watcher);
    EXPECT_EQ(loaded.backend.load_report().fuse_mode, mode);
    EXPECT_EQ(NanCount(loaded.Run(loaded.Build(20, 1), Tokens(20), 0)), 0);
    int window = 0;
    for (const Watcher::Seen& seen : watcher.nodes) {
      const bool fused = seen.label.ends_with(".fuse" + std::to_string(mode));
      window += fused ? 1 : 0;
      EXPECT_EQ(seen.nan, fused && mode == 2 ? seen.values : 0) << seen.label;
    }
    EXPECT_EQ(window, mode == 0 ? 0 : 3 + 1);
  }
}

TEST(CpuBackend, TheWritingFaultWritesThem) {
  const TinyModelSpec spec = testing::WideSpec(TensorType::kQ4_K);
  Loaded loaded(InMode(2, "FG_FAULT=skip_write_writes"), spec);
  Watcher watcher;
  loaded.backend.Observe(&watcher);
  loaded.Run(loaded.Build(20, 1), Tokens(20), 0);
  int fused = 0;
  for (const Watcher::Seen& seen : watcher.nodes) {
    EXPECT_EQ(seen.nan, 0) << seen.label;
    fused += seen.label.ends_with(".fuse2") ? 1 : 0;
  }
  EXPECT_EQ(fused, 4);
}

TEST(CpuBackend, AnObserverSeesEveryNodeWithItsLabel) {
  Loaded loaded(kFull, testing::WideSpec(TensorType::kQ4_K));
  Watcher watcher;
  loaded.backend.Observe(&watcher);
  loaded.Run(loaded.Build(20, 1), Tokens(20), 0);
  loaded.Run(loaded.Build(1, 1), {7}, 20);
  const size_t first = loaded.Build(20, 1).nodes.size(), second = loaded.Build(1, 1).nodes.size();
  const std::vector<std::string> said = {"begin 0 " + std::to_string(first) + " prefill", "end",
                                         "begin 1 " + std::to_string(second) + " decode", "end"};
  EXPECT_EQ(watcher.said, said);
}

TEST(CpuBackend, LabelsOfNodesAreThoseOfTheLedger) {
  Loaded loaded(kFull, testing::WideSpec(TensorType::kQ4_K));
  Watcher watcher;
  loaded.backend.Observe(&watcher);
  loaded.ledger.Take();
  loaded.Run(loaded.Build(20, 1), Tokens(20), 0);
  std::map<Ledger::DispatchKey, uint64_t> seen, counted = loaded.ledger.counts().dispatch;
  for (const Watcher::Seen& node : watcher.nodes) ++seen[{Phase::kPrefill, node.op, node.label}];
  std::erase_if(counted, [](const auto& entry) { return std::get<1>(entry.first) == "prepass"; });
  EXPECT_EQ(seen, counted);
}

TEST(CpuBackend, AnObserversErrorEndsTheForward) {
  Loaded loaded;
  Watcher watcher;
  watcher.fail_at = 4;
  loaded.backend.Observe(&watcher);
  EXPECT_TRUE(loaded.Run(loaded.Build(3, 1), {1, 2, 3}, 0).empty());
  EXPECT_EQ(watcher.nodes.size(), 5u);
  EXPECT_EQ(watcher.said.size(), 1u);  // it began and did not end
  loaded.backend.Observe(nullptr);
  EXPECT_FALSE(loaded.Run(loaded.Build(3, 1), {1, 2, 3}, 0).empty());
}

// Another reader of a norm's output: the window is shut, the norm is plain, the result right.
TEST(CpuBackend, AProducerWithAnotherReaderIsNotFused) {
  const TinyModelSpec spec = testing::WideSpec(TensorType::kQ4_K);
  const auto run = [&](int mode, int* fused) {
    Loaded loaded(InMode(mode), spec);
    Watcher watcher;
    loaded.backend.Observe(&watcher);
    Graph graph = loaded.Build(20, 1);
    const int norm = 1;
    EXPECT_EQ(graph.nodes[norm].op, GraphOp::kRmsNorm);
    for (Node& node : graph.nodes) {
      if (node.op != GraphOp::kAdd) continue;
      node.inputs[1] = norm;  // the residual takes the norm's output
      break;
    }
    const std::vector<float> logits = loaded.Run(graph, Tokens(20), 0);
    for (const Watcher::Seen& seen : watcher.nodes) *fused += seen.label.ends_with(".fuse2");
    return logits;
  };
  int none = 0, fused = 0;
  const std::vector<float> want = run(0, &none), got = run(2, &fused);
  EXPECT_EQ(none, 0);
  EXPECT_EQ(fused, 3 + 1 - 1);
  EXPECT_EQ(NanCount(want), 0);
  EXPECT_EQ(want, got);
}

TEST(CpuBackend, ADeadFuseRunsTheSeparatePrepassAndSaysSo) {
  const TinyModelSpec spec = testing::WideSpec(TensorType::kQ4_K);
  Loaded dead(InMode(2, "FG_FAULT=fuse_dead"), spec), healthy(InMode(2), spec);
  dead.ledger.Take();
  const std::vector<float> got = dead.Run(dead.Build(20, 1), Tokens(20), 0);
  EXPECT_EQ(got, healthy.Run(healthy.Build(20, 1), Tokens(20), 0));
  const auto count = [&](const char* op, const char* label) {
    const auto& dispatch = dead.ledger.counts().dispatch;
    const auto found = dispatch.find({Phase::kPrefill, op, label});
    return found == dispatch.end() ? uint64_t{0} : found->second;
  };
  EXPECT_EQ(count("rms_norm", "rms_norm!"), 3u);
  EXPECT_EQ(count("swiglu", "swiglu!"), 1u);
  EXPECT_EQ(count("prepass", "prepass.tiles"), 3u + 1 + 2);
}

TEST(CpuBackend, NamesATensorThatTheModelLacks) {
  Loaded loaded;
  Graph graph = loaded.Build(1, 1);
  graph.nodes[1].weight = "blk.0.attn_nrm.weight";
  const auto prepared = loaded.backend.Prepare(graph);
  EXPECT_EQ(prepared.status().kind(), ErrorKind::kInternal);
  EXPECT_EQ(prepared.status().message(),
            "the graph names tensor 'blk.0.attn_nrm.weight', the model has none");
}

TEST(CpuBackend, BooksAGraphAsLongAsItLives) {
  Loaded loaded;
  {
    const auto prepared = loaded.backend.Prepare(loaded.Build(20, 1));
    ASSERT_TRUE(prepared.ok());
    EXPECT_GT(loaded.memory.entry(MemoryCategory::kGraph).now, (*prepared)->graph().bytes());
  }
  EXPECT_EQ(loaded.memory.entry(MemoryCategory::kGraph).now, 0u);
}

TEST(CpuBackend, ALargerGraphThanTheBatchGrowsThePool) {
  Loaded loaded;
  const uint64_t before = loaded.memory.entry(MemoryCategory::kScratch).now;
  const std::vector<int32_t> tokens(60, 7);
  EXPECT_EQ(NanCount(loaded.Run(loaded.Build(60, 60), tokens, 0)), 0);
  EXPECT_GT(loaded.memory.entry(MemoryCategory::kScratch).now, before);
}

TEST(CpuBackend, RefusesAWeightBeyondF16AtLoad) {
  TinyModelSpec spec;
  spec.type = TensorType::kQ4_0;
  spec.edit = [](const std::string& name, std::vector<float>* values) {
    if (name == "blk.1.attn_q.weight") (*values)[64 + 7] = -200000.0f;
  };
  const Loaded loaded({}, spec);
  EXPECT_EQ(loaded.status.kind(), ErrorKind::kBadModel);
  EXPECT_EQ(
      loaded.status.message(),
      "tensor 'blk.1.attn_q.weight': value -200032.000000 at row 1, column 7 does not fit the "
      "f16 cache; keep this tensor in f32");
  EXPECT_EQ(loaded.memory.entry(MemoryCategory::kScratch).now, 0u);
  const Loaded served({"FG_MMQ=1"}, spec);  // the int8 path needs no cache
  EXPECT_TRUE(served.status.ok());
}

}  // namespace
}  // namespace fg
