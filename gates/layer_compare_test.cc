#include "gates/layer_compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

// A dump of one forward with one node of two rows.
NodeDump DumpOf(const std::string& name, const std::vector<float>& values,
                const std::string& op = "matmul") {
  const std::string path = fg::ProcessTempDir() + name;
  const std::string bytes(reinterpret_cast<const char*>(values.data()),
                          values.size() * sizeof(float));
  EXPECT_TRUE(fg::WriteFileAtomic(path, bytes).ok());
  DumpedNode node;
  node.index = 4;
  node.layer = 1;
  node.rows = 2;
  node.columns = static_cast<int64_t>(values.size()) / 2;
  node.op = op;
  node.weight = "w";
  node.path = path;
  return {{"forward-000000", {{4, node}}}};
}

LayerComparison Compared(const NodeDump& a, const NodeDump& b, double share) {
  auto result = CompareLayers(a, "here", b, "there", share);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(result).value();
}

TEST(LayerCompare, AShareOfTheRowsLargestValueIsAllowed) {
  const NodeDump b = DumpOf("b", {1, -8, 0, 0.5f});
  const LayerComparison inside = Compared(DumpOf("a", {1.0625f, -8, 0, 0.5f}), b, 0.01);
  EXPECT_EQ(inside.fault, std::nullopt);
  EXPECT_EQ(inside.nodes, 1);
  EXPECT_EQ(inside.values, 4);
  EXPECT_DOUBLE_EQ(inside.worst, 0.0625 / 8);
  EXPECT_EQ(inside.worst_by_op, (std::map<std::string, double>{{"matmul", 0.0625 / 8}}));
  const LayerComparison beyond = Compared(DumpOf("a", {1, -8, 0.0625f, 0.5f}), b, 0.1);
  EXPECT_EQ(beyond.fault,
            "forward-000000, node 4 (matmul w, layer 1), row 1, column 0: here has 0.0625, there "
            "has 0, which is 0.125 of the row's largest value; 0.1 is allowed");
}

TEST(LayerCompare, WhatCannotBeComparedIsAFault) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const NodeDump zeros = DumpOf("b", {0, 0, 1, 1});
  EXPECT_NE(Compared(DumpOf("a", {1e-30f, 0, 1, 1}), zeros, 0.5).fault, std::nullopt);
  EXPECT_NE(Compared(DumpOf("a", {0, 0, nan, 1}), zeros, 0.5).fault, std::nullopt);
  EXPECT_NE(Compared(DumpOf("a", {0, 0, infinity, 1}), zeros, 0.5).fault, std::nullopt);
  EXPECT_NE(Compared(zeros, DumpOf("a", {0, 0, nan, 1}), 0.5).fault, std::nullopt);
  const NodeDump odd = DumpOf("c", {nan, infinity, 1, -infinity});
  EXPECT_EQ(Compared(odd, DumpOf("d", {nan, infinity, 1, -infinity}), 0).fault, std::nullopt);
  EXPECT_NE(Compared(odd, DumpOf("d", {nan, infinity, 1, infinity}), 0.5).fault, std::nullopt);
}

TEST(LayerCompare, AnotherGraphIsAFault) {
  const NodeDump a = DumpOf("a", {1, 1}), b = DumpOf("b", {1, 1}, "swiglu");
  EXPECT_EQ(Compared(a, b, 1).fault,
            "forward-000000, node 4 (matmul w) is forward-000000, node 4 (swiglu w) [2][1] with "
            "there");
  EXPECT_EQ(Compared(a, {}, 1).fault,
            "forward-000000, node 4 (matmul w) was dumped with here and not with there");
}

}  // namespace
}  // namespace flipgate
