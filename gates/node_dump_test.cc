#include "gates/node_dump.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

std::string Bytes(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// A folder with one forward of two nodes; `second` are the values of the second.
std::string Dump(const std::string& name, const std::vector<float>& second, int64_t rows = 2,
                 const std::string& sum = "") {
  const std::string folder = fg::ProcessTempDir() + name, forward = folder + "/forward-000000";
  EXPECT_TRUE(fg::MakeFolders(forward).ok());
  std::string lines;
  for (int index = 0; index < 2; ++index) {
    const std::string bytes = Bytes(index == 0 ? std::vector<float>{1, 2} : second);
    const std::string file = std::to_string(index) + ".bin";
    EXPECT_TRUE(fg::WriteFileAtomic(forward + "/" + file, bytes).ok());
    lines += fg::Json{{"index", index},
                      {"op", index == 0 ? "embed" : "rms_norm"},
                      {"weight", ""},
                      {"layer", -1},
                      {"rows", index == 0 ? 2 : rows},
                      {"columns", 1},
                      {"label", "x"},
                      {"file", file},
                      {"sha256", sum.empty() ? fg::Sha256Hex(bytes) : sum}}
                 .dump() +
             "\n";
  }
  EXPECT_TRUE(fg::WriteFileAtomic(forward + "/nodes.jsonl", lines).ok());
  return folder;
}

TEST(NodeDump, EqualOnesHaveNoDifference) {
  const NodeDump a = *ReadNodeDump(Dump("a", {3, 4})), b = *ReadNodeDump(Dump("b", {3, 4}));
  EXPECT_EQ(CountNodes(a), 2);
  EXPECT_EQ(DumpDifference(a, "off", b, "on"), std::nullopt);
}

TEST(NodeDump, OtherValuesAndShapesAreDifferences) {
  const NodeDump a = *ReadNodeDump(Dump("a", {3, 4}));
  EXPECT_EQ(DumpDifference(a, "off", *ReadNodeDump(Dump("c", {3, -4})), "on"),
            "forward-000000, node 1 (rms_norm): the values with on (x) are not those with off (x)");
  EXPECT_EQ(
      DumpDifference(a, "off", *ReadNodeDump(Dump("d", {3, 4, 5}, 3)), "on"),
      "forward-000000, node 1 (rms_norm) is forward-000000, node 1 (rms_norm) [3][1] with on");
}

TEST(NodeDump, AMissingNodeIsADifferenceOnEitherSide) {
  const NodeDump a = *ReadNodeDump(Dump("a", {3, 4}));
  NodeDump less = a;
  less["forward-000000"].erase(0);
  const std::string missing = "forward-000000, node 0 (embed) was dumped with ";
  EXPECT_EQ(DumpDifference(a, "off", less, "on"), missing + "off and not with on");
  EXPECT_EQ(DumpDifference(less, "off", a, "on"), missing + "on and not with off");
}

TEST(NodeDump, FilesThatAreNotWhatTheirLineSaysAreRefused) {
  const auto message = [](const std::string& folder) {
    return ReadNodeDump(folder).status().message();
  };
  EXPECT_EQ(message(Dump("e", {3, 4}, 2, std::string(64, '0'))),
            "forward-000000/nodes.jsonl: 0.bin has another sum than its line");
  EXPECT_EQ(message(Dump("f", {3, 4}, 3)),
            "forward-000000/nodes.jsonl: 1.bin holds 8 bytes, which is not [3][1] of f32");
  EXPECT_EQ(message(fg::ProcessTempDir() + "nowhere"), "no node was dumped");
}

}  // namespace
}  // namespace flipgate
