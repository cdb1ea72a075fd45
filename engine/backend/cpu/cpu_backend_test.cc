#include "engine/backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <cmath>
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
                                     PhaseOfRows(static_cast<int64_t>(tokens.size()))});
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
