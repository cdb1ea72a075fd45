#include "engine/probe/bench_work.h"

#include <gtest/gtest.h>

#include <span>

#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

BenchWork Work(const testing::TinyModelSpec& spec) {
  const std::string bytes = testing::TinyModelBytes(spec);
  const auto file = GgufFile::Parse(std::as_bytes(std::span(bytes)));
  const auto model = ReadHyperparameters(*file);
  const auto weights = ModelWeights::Read(*file, model->shape);
  EXPECT_TRUE(weights.ok()) << weights.status().message();
  return WorkOf(*file, *model, *weights);
}

// Width 64, ffn 96, 4 heads and 2 of keys of 16, 2 layers, 261 tokens, all f32.
constexpr int64_t kAttention = 64 * 64 + 2 * 64 * 32 + 64 * 64, kFfn = 3 * 64 * 96;
constexpr int64_t kTable = 64 * 261;
constexpr int64_t kVectors = 2 * (64 + 64 + 32 + 32 + 64) + 64;

TEST(BenchWork, CountsWhatAForwardMultiplies) {
  const BenchWork work = Work({});
  EXPECT_EQ(work.row_macs, 2 * kAttention + kFfn);  // the last layer's ffn is the tail's
  EXPECT_EQ(work.tail_macs, kFfn + kTable);
  EXPECT_EQ(work.PrefillMacs(10), 10 * work.row_macs + work.tail_macs);
  EXPECT_EQ(work.parameters, 2 * kAttention + 2 * kFfn + 2 * kTable + kVectors);
  EXPECT_EQ(work.size_bytes, 4u * static_cast<uint64_t>(work.parameters));
  EXPECT_EQ(work.model, "qwen2 0.1M f32");
}

TEST(BenchWork, CountsWhatATokenReads) {
  const BenchWork work = Work({});
  EXPECT_EQ(work.token_bytes, 4u * (2 * kAttention + 2 * kFfn + kTable + kVectors));
  EXPECT_EQ(work.position_bytes, 2u * 2 * 2 * 32);  // layers, keys and values, f16, width
  EXPECT_EQ(work.position_macs, 2 * 2 * 64);
  // Behind 10 positions three tokens attend to 11, 12 and 13.
  EXPECT_EQ(work.DecodeBytes(10, 3), 3 * work.token_bytes + 36 * work.position_bytes);
  EXPECT_EQ(work.AttentionMacs(10, 3), 36 * work.position_macs);
}

TEST(BenchWork, ATiedTableIsReadOnce) {
  testing::TinyModelSpec spec;
  spec.type = TensorType::kQ4_0;
  spec.shape.tied_output = true;
  const BenchWork tied = Work(spec);
  spec.shape.tied_output = false;
  const BenchWork own = Work(spec);
  EXPECT_EQ(tied.token_bytes, own.token_bytes);
  EXPECT_EQ(tied.tail_macs, own.tail_macs);
  EXPECT_LT(tied.parameters, own.parameters);
  EXPECT_EQ(tied.model, "qwen2 0.1M q4_0");
}

}  // namespace
}  // namespace fg
