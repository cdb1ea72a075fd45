#include "engine/readers/readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"
#include "engine/readers/readers_testing.h"

namespace fg {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Path(const std::string& name) { return ProcessTempDir() + name; }

std::unique_ptr<NodeObserver> Made(const Settings& settings) {
  auto readers = MakeReaders(settings);
  EXPECT_TRUE(readers.ok()) << readers.status().message();
  return readers.ok() ? std::move(*readers) : nullptr;
}

std::string ErrorOf(const Settings& settings) {
  const auto readers = MakeReaders(settings);
  if (readers.ok()) return "no error";
  EXPECT_EQ(readers.status().kind(), ErrorKind::kUsage);
  EXPECT_EQ(CheckReaders(settings).message(), readers.status().message());
  return readers.status().message();
}

std::vector<Json> Lines(const std::string& text) {
  std::vector<Json> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    EXPECT_NE(end, std::string::npos) << "an unfinished line";
    lines.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

std::string BytesOf(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// The model is mapped: a reader that emptied it would take the weights from under the engine.
TEST(Readers, TheModelItselfIsNoFileToWrite) {
  const std::string model = Path("model.gguf"), link = Path("hard-link");
  ASSERT_TRUE(WriteFileAtomic(model, "weights").ok());
  std::filesystem::create_hard_link(model, link);
  Settings settings;
  settings.trace = link;
  EXPECT_EQ(CheckReadersSpare(settings, model).message(),
            "FG_TRACE='" + link + "': is the model itself");
  settings.trace = Path("another");
  EXPECT_TRUE(CheckReadersSpare(settings, model).ok());
  settings.graph_dump = model;
  EXPECT_EQ(CheckReadersSpare(settings, model).message(),
            "FG_GRAPH_DUMP='" + model + "': is the model itself");
  EXPECT_EQ(*ReadFile(model), "weights");
}

TEST(Readers, NoneAreAskedFor) { EXPECT_EQ(Made({}), nullptr); }

TEST(GraphDump, HoldsEachTopologyOnceAndEveryExecution) {
  Settings settings;
  settings.graph_dump = Path("graph.jsonl");
  const auto readers = Made(settings);
  const Graph wide = FakeGraph(3), narrow = FakeGraph(1);
  ASSERT_TRUE(ShowForward(*readers, 0, wide, Phase::kPrefill).ok());
  ASSERT_TRUE(ShowForward(*readers, 1, narrow, Phase::kDecode).ok());
  ASSERT_TRUE(ShowForward(*readers, 2, wide, Phase::kPrefill).ok());
  const std::vector<Json> lines = Lines(*ReadFile(settings.graph_dump));
  const size_t nodes = wide.nodes.size();
  ASSERT_EQ(lines.size(), 2 + 3 * (nodes + 2));
  EXPECT_EQ(lines[0]["kind"], "graph");
  EXPECT_EQ(lines[0]["identity"], wide.identity);
  ASSERT_EQ(lines[0]["nodes"].size(), nodes);
  EXPECT_EQ(lines[0]["nodes"][2]["inputs"], Json(wide.nodes[2].inputs));
  EXPECT_EQ(lines[0]["nodes"][2]["layer"], 0);
  EXPECT_EQ(
      lines[1],
      Json({{"kind", "forward"}, {"forward", 0}, {"phase", "prefill"}, {"graph", wide.identity}}));
  const Json& node = lines[2 + 2];
  const std::vector<float> values = FakeValues(0, 2, wide.nodes[2]);
  EXPECT_EQ(node["index"], 2);
  EXPECT_EQ(node["op"], "matmul");
  EXPECT_EQ(node["label"], "matmul.fake");
  EXPECT_EQ(node["weight"], "blk.0.attn_q.weight");
  EXPECT_EQ(node["sha256"], Sha256Hex(BytesOf(values)));
  EXPECT_EQ(node["statistics"]["min"], values.front());
  EXPECT_EQ(node["statistics"]["max"], values.back());
  EXPECT_EQ(node["statistics"]["mean"], (values.front() + values.back()) / 2);
  EXPECT_EQ(node["statistics"]["nan"], 0);
  EXPECT_EQ(lines[2 + nodes]["kind"], "end");
  const Json& second = lines[2 + nodes + 2];  // after the second topology
  EXPECT_EQ(second["phase"], "decode");
}

TEST(GraphDump, ANodeWithoutValuesHasNeitherSumNorStatistics) {
  Settings settings;
  settings.graph_dump = Path("store.jsonl");
  ASSERT_TRUE(ShowForward(*Made(settings), 0, FakeGraph(2), Phase::kDecode).ok());
  int stores = 0;
  for (const Json& line : Lines(*ReadFile(settings.graph_dump))) {
    if (line["kind"] != "node" || line["op"] != "kv_store") continue;
    ++stores;
    EXPECT_EQ(line["statistics"], nullptr);
    EXPECT_EQ(line["sha256"], "");
    EXPECT_EQ(line["columns"], 0);
  }
  EXPECT_EQ(stores, 2);
}

TEST(GraphDump, NaNIsCountedAndKeepsTheFileJson) {
  Settings settings;
  settings.graph_dump = Path("nan.jsonl");
  const auto readers = Made(settings);
  const Graph graph = FakeGraph(1);
  ASSERT_TRUE(readers->BeginForward(0, graph, Phase::kDecode).ok());
  const std::vector<float> values(8, std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(readers->AfterNode({0, graph.nodes[0], values.data(), "embed\xff", 0}).ok());
  const Json node = Lines(*ReadFile(settings.graph_dump)).at(2);
  EXPECT_EQ(node["statistics"]["nan"], 8);
  EXPECT_EQ(node["statistics"]["mean"], nullptr);
  EXPECT_EQ(node["label"], "embed\xEF\xBF\xBD");
}

TEST(GraphDump, ADotFileIsADigraphWithComments) {
  Settings settings;
  settings.graph_dump = Path("graph.dot");
  const Graph graph = FakeGraph(2);
  ASSERT_TRUE(ShowForward(*Made(settings), 0, graph, Phase::kDecode).ok());
  const std::string text = *ReadFile(settings.graph_dump);
  EXPECT_THAT(text, StartsWith("digraph \"" + graph.identity + "\" {\n"));
  EXPECT_THAT(text, HasSubstr("  n2 [label=\"2 matmul blk.0.attn_q.weight [2, 8]\"];\n"
                              "  n1 -> n2;\n"));
  const std::string rest = text.substr(text.find("}\n") + 2);
  size_t comments = 0;
  for (size_t at = 0; at < rest.size(); at = rest.find('\n', at) + 1, ++comments) {
    ASSERT_EQ(rest.substr(at, 4), "// {");
  }
  EXPECT_EQ(comments, graph.nodes.size() + 2);
}

TEST(DumpDir, HoldsTheValuesOfEveryNodeOfEveryForward) {
  Settings settings;
  settings.dump_dir = Path("made/on/demand");
  const auto readers = Made(settings);
  const Graph graph = FakeGraph(2);
  for (const int64_t forward : {0, 1}) {
    ASSERT_TRUE(ShowForward(*readers, forward, graph, Phase::kDecode).ok());
    const std::string folder = settings.dump_dir + "/forward-00000" + std::to_string(forward);
    const std::vector<Json> lines = Lines(*ReadFile(folder + "/nodes.jsonl"));
    const auto stores = std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                      [](const Node& node) { return node.columns == 0; });
    ASSERT_EQ(stores, 2);
    ASSERT_EQ(lines.size(), graph.nodes.size() - stores);
    for (const Json& line : lines) {
      const int index = line["index"];
      const Node& node = graph.nodes[index];
      const std::string bytes = BytesOf(FakeValues(forward, index, node));
      EXPECT_EQ(*ReadFile(folder + "/" + line["file"].get<std::string>()), bytes);
      EXPECT_EQ(line["sha256"], Sha256Hex(bytes));
      EXPECT_EQ(line["rows"], node.rows);
      EXPECT_EQ(line["columns"], node.columns);
      EXPECT_EQ(line["weight"], node.weight);
      EXPECT_EQ(line["op"], GraphOpName(node.op));
      EXPECT_EQ(line["label"], std::string(GraphOpName(node.op)) + ".fake");
    }
    EXPECT_EQ(lines[0]["file"], "0000-embed.bin");
    EXPECT_EQ(lines[0]["layer"], -1);
    EXPECT_EQ(lines[1]["layer"], 0);
  }
}

TEST(DumpDir, AFolderThatHoldsSomethingIsRefused) {
  Settings settings;
  settings.dump_dir = Path("full");
  ASSERT_TRUE(MakeFolders(settings.dump_dir).ok());
  ASSERT_TRUE(WriteFileAtomic(settings.dump_dir + "/kept", "kept").ok());
  EXPECT_EQ(ErrorOf(settings), "FG_DUMP_DIR='" + settings.dump_dir +
                                   "': the folder is not empty, and nothing in it is overwritten; "
                                   "name another");
  EXPECT_EQ(*ReadFile(settings.dump_dir + "/kept"), "kept");
  settings.dump_dir += "/kept";
  EXPECT_EQ(ErrorOf(settings), "FG_DUMP_DIR='" + settings.dump_dir + "': is no folder");
  settings.dump_dir += "/below";
  EXPECT_EQ(ErrorOf(settings),
            "FG_DUMP_DIR='" + settings.dump_dir + "': '" + Path("full/kept") + "' is no folder");
}

TEST(DumpDir, WhatComesInItsWayStaysAndEndsTheForward) {
  Settings settings;
  settings.dump_dir = Path("raced");
  const auto readers = Made(settings);
  ASSERT_TRUE(MakeFolders(settings.dump_dir + "/forward-000000").ok());
  const Status status = ShowForward(*readers, 0, FakeGraph(1), Phase::kDecode);
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_EQ(status.message(),
            "FG_DUMP_DIR='" + settings.dump_dir + "/forward-000000': is there already");
  EXPECT_TRUE(std::filesystem::is_empty(settings.dump_dir + "/forward-000000"));
}

TEST(Trace, IsWholeAfterEveryEvent) {
  Settings settings;
  settings.trace = Path("trace.json");
  const auto readers = Made(settings);
  const Graph graph = FakeGraph(2);
  EXPECT_EQ(Json::parse(*ReadFile(settings.trace)).size(), 2u);  // names
  ASSERT_TRUE(readers->BeginForward(7, graph, Phase::kDecode).ok());
  for (int index = 0; index < 3; ++index) {
    const Node& node = graph.nodes[index];
    const std::vector<float> values = FakeValues(7, index, node);
    ASSERT_TRUE(readers->AfterNode({index, node, values.data(), "label", 0.25}).ok());
    const Json events = Json::parse(*ReadFile(settings.trace));
    ASSERT_EQ(events.size(), 3u + index);
    const Json& event = events.back();
    EXPECT_EQ(event["ph"], "X");
    EXPECT_EQ(event["cat"], "decode");
    EXPECT_EQ(event["dur"], 250000.0);
    EXPECT_GE(event["ts"], 0);
    EXPECT_EQ(event["args"]["index"], index);
    EXPECT_EQ(event["args"]["forward"], 7);
    EXPECT_EQ(event["args"]["label"], "label");
    EXPECT_EQ(event["args"]["op"], GraphOpName(node.op));
    EXPECT_EQ(event["args"]["rows"], 2);
    EXPECT_EQ(event["args"]["statistics"]["max"], values.back());
  }
  ASSERT_TRUE(readers->EndForward().ok());
  const std::string text = *ReadFile(settings.trace);
  const Json events = Json::parse(text);
  EXPECT_EQ(events.back()["name"], "forward 7");
  EXPECT_EQ(events[4]["name"], "matmul blk.0.attn_q.weight");
  // An event a line, and the brackets.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<int>(events.size()) + 2);
}

TEST(Readers, CombineAndNameWhatCannotBeMeant) {
  Settings settings;
  settings.trace = Path("both.json");
  settings.graph_dump = settings.trace;
  EXPECT_EQ(ErrorOf(settings), "FG_GRAPH_DUMP and FG_TRACE name one file, '" + settings.trace +
                                   "'; each needs its own");
  settings.graph_dump = Path("both.jsonl");
  settings.dump_dir = Path("both");
  settings.live = "0";
  const auto readers = Made(settings);
  ASSERT_TRUE(ShowForward(*readers, 0, FakeGraph(1), Phase::kDecode).ok());
  EXPECT_GT(Lines(*ReadFile(settings.graph_dump)).size(), 10u);
  EXPECT_GT(Json::parse(*ReadFile(settings.trace)).size(), 10u);
  EXPECT_TRUE(ReadFile(settings.dump_dir + "/forward-000000/0000-embed.bin").ok());
}

TEST(Readers, AForwardThatWasBrokenOffLeavesTheNextOneWhole) {
  Settings settings;
  settings.dump_dir = Path("broken");
  const auto readers = Made(settings);
  const Graph graph = FakeGraph(1);
  ASSERT_TRUE(readers->BeginForward(0, graph, Phase::kDecode).ok());
  ASSERT_TRUE(ShowForward(*readers, 1, graph, Phase::kDecode).ok());
  EXPECT_EQ(*ReadFile(settings.dump_dir + "/forward-000000/nodes.jsonl"), "");
  EXPECT_FALSE(Lines(*ReadFile(settings.dump_dir + "/forward-000001/nodes.jsonl")).empty());
}

}  // namespace
}  // namespace fg
