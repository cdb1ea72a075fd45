#include "gates/model_store.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;

// `synth SHAPE OUT ...` writes "bytes" and a line of a log that counts how often.
const std::vector<std::string> kEngine = {"/bin/sh", "-c",
                                          "printf bytes > \"$3\" && echo made >> \"$3.log\"", "sh"};

Matrix MatrixOf(const std::string& sum) {
  auto matrix = Matrix::Parse(
      "version: 1\n"
      "models: {m: {synth: {shape: big, mix: q4_0, seed: 3}, sha256: \"" +
          sum +
          "\"}}\n"
          "tolerances: {near: {value: 1, cause: rounding}}\n"
          "gates: {FG_A: {needs: [], set: {on: {env: 1}, off: {env: 0}}, bits: same, live: {x: "
          "\">= "
          "1\"}}}\n"
          "evidence: {parity: {models: [m], ops: o, pins: p, agreement: {ops: bitwise, logits: "
          "near}}}\n"
          "cells: {parity: {default: required, FG_A: required}}\n",
      "m.yaml", {"parity"});
  EXPECT_TRUE(matrix.ok()) << matrix.status().message();
  return std::move(matrix).value();
}

class ModelStoreTest : public testing::Test {
 protected:
  ModelStoreTest() {
    fs::remove_all(root_);
    project_.root = root_;
    project_.cache = ".cache";
  }
  const std::string root_ = fg::ProcessTempDir() + "model_store_test";
  Project project_;
};

TEST_F(ModelStoreTest, AModelIsMadeOnceInTheFolderThatIsGiven) {
  const Matrix matrix = MatrixOf(fg::Sha256Hex("bytes"));
  ModelStore store(project_, matrix, kEngine, {}, root_ + "/kept");
  const auto path = store.Path("m");
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_EQ(*path, CachedModelPath(project_, matrix.models()[0], root_ + "/kept"));
  EXPECT_EQ(fs::path(*path).parent_path(), root_ + "/kept");
  ASSERT_TRUE(store.Path("m").ok());
  ModelStore next(project_, matrix, kEngine, {}, root_ + "/kept");
  ASSERT_TRUE(next.Path("m").ok());
  EXPECT_EQ(*fg::ReadFile(*path + ".log"), "made\n");
  EXPECT_FALSE(fs::exists(root_ + "/.cache"));
}

TEST_F(ModelStoreTest, ASumThatIsNotPinnedYetIsSaid) {
  const Matrix matrix = MatrixOf(std::string(64, '0'));
  EXPECT_TRUE(IsUnpinned(matrix.models()[0]));
  ModelStore store(project_, matrix, kEngine, {});
  const auto path = store.Path("m");
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.status().kind(), fg::ErrorKind::kUsage);
  EXPECT_EQ(path.status().message(),
            "model 'm': the matrix pins no sum of it yet; shape big, seed 3 as q4_0 makes sha256 " +
                fg::Sha256Hex("bytes") + ": write that");
}

TEST_F(ModelStoreTest, AnotherSumThanThePinnedOneIsRefused) {
  const Matrix matrix = MatrixOf(std::string(64, '1'));
  ModelStore store(project_, matrix, kEngine, {});
  const auto path = store.Path("m");
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.status().message(),
            "model 'm': synth q4_0 of shape big, seed 3 gave sha256 " + fg::Sha256Hex("bytes") +
                ", the matrix pins " + std::string(64, '1') +
                "; if the change of synth is meant, pin the new sum and the oracle's values with "
                "it");
  EXPECT_FALSE(fs::exists(CachedModelPath(project_, matrix.models()[0])));
}

}  // namespace
}  // namespace flipgate
