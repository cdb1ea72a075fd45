// The readers on an engine with a model: what they write is what each operation gives for what its
// inputs were written to be, recomputed here in float64 from the file's own weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "base/file.h"
#include "base/json.h"
#include "base/testing/temp_dir.h"
#include "engine/readers/live_client_testing.h"
#include "engine/testing/reference_forward.h"
#include "engine/testing/test_engine.h"
#include "engine/testing/tiny_model.h"
#include "kernels/formats/dequantize.h"

namespace fg {
namespace {

using ::testing::HasSubstr;
using testing::RandomTokens;
using testing::TestEngine;
using testing::TinyModelSpec;

std::string Fresh(const char* name) {
  static int calls = 0;
  return ProcessTempDir() + name + std::to_string(calls++);
}

std::vector<float> Floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<Json> Lines(const std::string& path) {
  const auto text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status().message();
  std::vector<Json> lines;
  for (size_t at = 0; text.ok() && at < text->size(); at = text->find('\n', at) + 1) {
    lines.push_back(Json::parse(text->substr(at, text->find('\n', at) - at)));
  }
  return lines;
}

// The values of every node of a dumped forward, by index.
std::map<int, std::vector<float>> DumpedValues(const std::string& folder) {
  std::map<int, std::vector<float>> values;
  for (const Json& line : Lines(folder + "/nodes.jsonl")) {
    const auto bytes = ReadFile(folder + "/" + line["file"].get<std::string>());
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    if (bytes.ok()) values[line["index"]] = Floats(*bytes);
  }
  return values;
}

// Recomputes nodes from the dumped values of their inputs.
class Recomputed {
 public:
  Recomputed(const GgufFile& file, const Json& graph, std::span<const int32_t> tokens,
             const std::map<int, std::vector<float>>& dumped)
      : file_(file), nodes_(graph["nodes"]), tokens_(tokens), dumped_(dumped) {}

  // Nothing for an operation that only the logits check: rope, attention, kv_store.
  std::vector<double> Node(int index) const {
    const Json& node = nodes_[index];
    const std::string op = node["op"];
    if (op == "embed") return Embed(node);
    if (op == "rms_norm") return Norm(node);
    if (op == "matmul") return Matmul(node);
    if (op == "add" || op == "swiglu") return Pairwise(node, op == "add");
    if (op == "gather") return Gather(node);
    return {};
  }

 private:
  const std::vector<float>& Input(const Json& node, int place) const {
    return dumped_.at(node["inputs"][place]);
  }
  std::vector<float> Weight(const std::string& name) const {
    const GgufTensor& tensor = *file_.FindTensor(name);
    std::vector<float> values(tensor.values());
    DequantizeRow(tensor.type, tensor.data, static_cast<int64_t>(values.size()), values.data());
    return values;
  }

  std::vector<double> Embed(const Json& node) const {
    const int64_t n = node["columns"];
    const std::vector<float> table = Weight(node["weight"]);
    std::vector<double> y;
    for (const int32_t token : tokens_) {
      y.insert(y.end(), table.begin() + token * n, table.begin() + (token + 1) * n);
    }
    return y;
  }
  std::vector<double> Norm(const Json& node) const {
    const int64_t n = node["columns"];
    const std::vector<float>&x = Input(node, 0), w = Weight(node["weight"]);
    std::vector<double> y(x.size());
    for (size_t row = 0; row < x.size(); row += n) {
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[row + i]) * x[row + i];
      const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-6);
      for (int64_t i = 0; i < n; ++i) y[row + i] = x[row + i] * scale * w[i];
    }
    return y;
  }
  std::vector<double> Matmul(const Json& node) const {
    const int64_t rows = node["rows"], out = node["columns"];
    const std::vector<float>&x = Input(node, 0), w = Weight(node["weight"]);
    const std::string bias_name = node["bias"];
    const std::vector<float> bias = bias_name.empty() ? std::vector<float>(out) : Weight(bias_name);
    const int64_t k = static_cast<int64_t>(x.size()) / rows;
    std::vector<double> y(rows * out);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = bias[o];
        for (int64_t i = 0; i < k; ++i) {
          sum += static_cast<double>(x[row * k + i]) * w[o * k + i];
        }
        y[row * out + o] = sum;
      }
    }
    return y;
  }
  std::vector<double> Pairwise(const Json& node, bool add) const {
    const std::vector<float>&a = Input(node, 0), &b = Input(node, 1);
    std::vector<double> y(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = a[i];
      y[i] = add ? x + b[i] : x / (1 + std::exp(-x)) * b[i];
    }
    return y;
  }
  std::vector<double> Gather(const Json& node) const {
    const std::vector<float>& x = Input(node, 0);
    const size_t size = node["rows"].get<size_t>() * node["columns"].get<size_t>();
    return {x.end() - static_cast<int64_t>(size), x.end()};  // the last rows are wanted
  }

  const GgufFile& file_;
  const Json& nodes_;
  std::span<const int32_t> tokens_;
  const std::map<int, std::vector<float>>& dumped_;
};

TEST(ReadersOnAModel, DumpsAreWhatTheOperationsGive) {
  const std::string path = testing::WriteTinyModel({});
  const std::string bytes = *ReadFile(path), folder = Fresh("dump"), graphs = Fresh("graph");
  const auto file = GgufFile::Parse(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(file.ok());
  const std::vector<int32_t> tokens = RandomTokens(20, 3);
  TestEngine engine(path, {"FG_DUMP_DIR=" + folder, "FG_GRAPH_DUMP=" + graphs});
  const std::vector<float> logits = engine.Logits(tokens, 17);
  const auto dumped = DumpedValues(folder + "/forward-000000");
  const Json graph = Lines(graphs).at(0);
  const Recomputed recomputed(*file, graph, tokens, dumped);
  std::map<std::string, int> checked;
  for (const auto& [index, values] : dumped) {
    const std::vector<double> expected = recomputed.Node(index);
    if (expected.empty()) continue;
    const std::string op = graph["nodes"][index]["op"];
    ASSERT_EQ(values.size(), expected.size()) << op;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], expected[i], 1e-4) << op << " " << index << " at " << i;
    }
    ++checked[op];
  }
  EXPECT_EQ(checked, (std::map<std::string, int>{{"add", 4},
                                                 {"embed", 1},
                                                 {"gather", 1},
                                                 {"matmul", 15},
                                                 {"rms_norm", 5},
                                                 {"swiglu", 2}}));
  // The last node's values are the logits, those of the reference.
  EXPECT_EQ(dumped.rbegin()->second, logits);
  const auto reference = testing::ReferenceForward(*file, tokens);
  const size_t vocabulary = reference[0].size();
  for (size_t row = 0; row < 3; ++row) {
    for (size_t i = 0; i < vocabulary; ++i) {
      ASSERT_NEAR(logits[row * vocabulary + i], reference[17 + row][i], 1e-2);
    }
  }
}

TEST(ReadersOnAModel, TheGraphDumpAndTheDumpDirectorySayTheSameSums) {
  const std::string folder = Fresh("dump"), graphs = Fresh("graph");
  TestEngine engine(testing::WriteTinyModel({}),
                    {"FG_DUMP_DIR=" + folder, "FG_GRAPH_DUMP=" + graphs});
  engine.Logits(RandomTokens(18, 3), 17);
  engine.Logits(RandomTokens(2, 4), 1, {.rows_per_forward = 1});
  std::map<std::pair<int64_t, int>, std::string> sums;
  for (const Json& line : Lines(graphs)) {
    if (line["kind"] == "node") sums[{line["forward"], line["index"]}] = line["sha256"];
  }
  for (int forward = 0; forward < 3; ++forward) {
    const auto lines = Lines(folder + "/forward-00000" + std::to_string(forward) + "/nodes.jsonl");
    EXPECT_GT(lines.size(), 20u);
    for (const Json& line : lines) {
      EXPECT_EQ((sums[{forward, line["index"]}]), line["sha256"]) << line;
    }
  }
}

// Every gate at work, mode 2 asked for: the reader brings it down, and sees what mode 0 writes.
TEST(ReadersOnAModel, AreTrueWhereMode2WasAskedFor) {
  const std::string path = testing::WriteTinyModel(testing::WideSpec(TensorType::kQ4_K));
  const std::vector<int32_t> tokens = RandomTokens(20, 3);
  const auto run = [&](const std::string& mode, const std::string& folder) {
    TestEngine engine(path, {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1", "FG_MMQ_A_TRANSPOSE=1",
                             "FG_MMQ_Q6K_NB=1", "FG_MMQ_A_FUSE=" + mode, "FG_DUMP_DIR=" + folder});
    engine.Logits(tokens, 19);
    return engine.ledger.counts().degradations;
  };
  const std::string fused = Fresh("fused"), plain = Fresh("plain");
  EXPECT_THAT(run("2", fused), ::testing::Contains(Degradation{"FG_MMQ_A_FUSE=2", "FG_MMQ_A_FUSE=1",
                                                               "reader FG_DUMP_DIR"}));
  EXPECT_THAT(run("0", plain), ::testing::IsEmpty());
  const auto values = DumpedValues(fused + "/forward-000000");
  EXPECT_GT(values.size(), 20u);
  EXPECT_EQ(values, DumpedValues(plain + "/forward-000000"));
}

TEST(ReadersOnAModel, TheLiveViewShowsNodesToAClient) {
  ::testing::internal::CaptureStderr();
  TestEngine engine(testing::WriteTinyModel({}), {"FG_LIVE=0"});
  const std::string said = ::testing::internal::GetCapturedStderr();
  const std::string start = "fg-engine: FG_LIVE: http://127.0.0.1:";
  ASSERT_EQ(said.substr(0, start.size()), start);
  LiveClient client(std::stoi(said.substr(start.size())));
  ASSERT_TRUE(client.connected());
  client.Get("/events");
  client.Until("\r\n\r\n");
  engine.Logits(RandomTokens(16, 3), 15);
  const std::string events = client.Until("\"kind\":\"end\"");
  EXPECT_THAT(events, HasSubstr("\"kind\":\"forward\""));
  EXPECT_THAT(events, HasSubstr("\"phase\":\"prefill\""));
  EXPECT_THAT(events, HasSubstr("\"label\":\"rms_norm\""));
  EXPECT_THAT(events, HasSubstr("\"weight\":\"blk.1.ffn_down.weight\""));
}

TEST(ReadersOnAModel, AReaderThatCannotWriteEndsTheForward) {
  const std::string folder = Fresh("dump");
  TestEngine engine(testing::WriteTinyModel({}), {"FG_DUMP_DIR=" + folder});
  engine.Logits(RandomTokens(1, 3));
  ASSERT_TRUE(MakeFolders(folder + "/forward-000001").ok());
  auto session = engine.engine->NewSession();
  ASSERT_TRUE(session.ok());
  std::vector<float> logits;
  const Status status = (*session)->Forward(RandomTokens(1, 3), 0, {}, &logits);
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_THAT(status.message(),
              HasSubstr("FG_DUMP_DIR='" + folder + "/forward-000001': is there already"));
  EXPECT_TRUE(logits.empty());
  ASSERT_TRUE((*session)->Forward(RandomTokens(1, 3), 0, {}, &logits).ok());
  EXPECT_FALSE(logits.empty());
}

}  // namespace
}  // namespace fg
