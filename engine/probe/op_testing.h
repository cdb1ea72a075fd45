// What the tests of the probe's `op` share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"
#include "engine/probe/op.h"

namespace fg {

class Op : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fg::ProcessTempDir() + "fg_op_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    ASSERT_TRUE(MakeFolders(folder_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  template <typename T>
  void Put(const std::string& name, const std::string& dtype, std::vector<int64_t> shape,
           const std::vector<T>& values) {
    const std::string path = folder_ + "/" + name + ".bin";
    ASSERT_TRUE(WriteFileAtomic(
                    path, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)})
                    .ok());
    request_.inputs[name] = {path, dtype, std::move(shape)};
  }
  Result<Json> Run(const std::string& op, std::vector<std::string> environment = {}) {
    request_.op = op;
    request_.out = folder_ + "/out";
    const auto gates = Gates::FromEnvironment(environment, "cpu", &ledger_);
    EXPECT_TRUE(gates.ok());
    return RunOp(request_, Device(), *gates, &ledger_);
  }
  std::string Error(const std::string& op) {
    const auto answer = Run(op);
    if (answer.ok()) return "";
    EXPECT_EQ(answer.status().kind(), ErrorKind::kUsage) << answer.status().message();
    return answer.status().message();
  }
  // The f32 values of the answer's y, whose digest must be the file's.
  std::vector<float> Values(const Result<Json>& answer, const std::string& name = "y") {
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    if (!answer.ok()) return {};
    const Json& output = (*answer)["outputs"][name];
    const auto bytes = ReadFile(output["file"]);
    EXPECT_TRUE(bytes.ok());
    EXPECT_EQ(output["digest"], Sha256Hex(*bytes));
    std::vector<float> values(bytes->size() / sizeof(float));
    std::memcpy(values.data(), bytes->data(), bytes->size());
    return values;
  }
  static std::string Label(const Result<Json>& answer) {
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    if (!answer.ok()) return "";
    const Json& labels = (*answer)["labels"];
    EXPECT_EQ(labels.size(), 1u);
    return labels[0]["phase"].get<std::string>() + " " + labels[0]["op"].get<std::string>() + " " +
           labels[0]["label"].get<std::string>() + " " + labels[0]["count"].dump();
  }

  // Every label of the answer, "phase op label count", one after another.
  static std::string Labels(const Result<Json>& answer) {
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    std::string text;
    if (!answer.ok()) return text;
    for (const Json& label : (*answer)["labels"]) {
      text += (text.empty() ? "" : ", ") + label["phase"].get<std::string>() + " " +
              label["op"].get<std::string>() + " " + label["label"].get<std::string>() + " " +
              label["count"].dump();
    }
    return text;
  }
  // The bytes of one output's file.
  static std::string Bytes(const Result<Json>& answer, const std::string& name) {
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    if (!answer.ok()) return "";
    const auto bytes = ReadFile((*answer)["outputs"][name]["file"]);
    EXPECT_TRUE(bytes.ok());
    EXPECT_EQ((*answer)["outputs"][name]["digest"], Sha256Hex(*bytes));
    return *bytes;
  }

  std::string folder_;
  OpRequest request_;
  Ledger ledger_;
};

inline std::vector<float> Random(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-52 - 1);
  }
  return values;
}

}  // namespace fg
