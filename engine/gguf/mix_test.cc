#include "engine/gguf/mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gguf/gguf_testing.h"

namespace fg {
namespace {

using testing::ElementsAre;

std::vector<int64_t> Lifted(int64_t layers) {
  std::vector<int64_t> lifted;
  for (int64_t i = 0; i < layers; ++i) {
    if (LayerIsLifted(i, layers)) lifted.push_back(i);
  }
  return lifted;
}

TEST(Mix, LayersWithMoreBits) {
  EXPECT_THAT(Lifted(1), ElementsAre(0));  // 7*1/8 is 0
  EXPECT_THAT(Lifted(4), ElementsAre(2, 3));
  EXPECT_THAT(Lifted(6), ElementsAre(2, 5));
  EXPECT_THAT(Lifted(8), ElementsAre(0, 3, 6, 7));
  EXPECT_THAT(Lifted(28), ElementsAre(0, 1, 2, 5, 8, 11, 14, 17, 20, 23, 24, 25, 26, 27));
}

const Mix& Named(std::string_view name) {
  for (const Mix& mix : AllMixes()) {
    if (name == mix.name) return mix;
  }
  ADD_FAILURE() << name;
  return AllMixes()[0];
}

MixChoice Choose(const char* mix, std::string name, std::vector<uint64_t> shape, bool tied = true,
                 int64_t layers = 8) {
  const GgufTensor tensor{std::move(name), TensorType::kBF16, std::move(shape)};
  return ChooseType(Named(mix), MixModel{layers, tied}, tensor);
}

TEST(Mix, Q4KMLiftsValuesDownAndTheOutputTable) {
  EXPECT_EQ(Choose("q4_k_m", "blk.3.attn_v.weight", {256, 64}).type, TensorType::kQ6_K);
  EXPECT_EQ(Choose("q4_k_m", "blk.3.ffn_down.weight", {1024, 256}).type, TensorType::kQ6_K);
  EXPECT_EQ(Choose("q4_k_m", "blk.4.attn_v.weight", {256, 64}).type, TensorType::kQ4_K);
  EXPECT_EQ(Choose("q4_k_m", "blk.4.ffn_down.weight", {1024, 256}).type, TensorType::kQ4_K);
  EXPECT_EQ(Choose("q4_k_m", "blk.3.attn_k.weight", {256, 64}).type, TensorType::kQ4_K);
  EXPECT_EQ(Choose("q4_k_m", "token_embd.weight", {256, 999}, true).type, TensorType::kQ6_K);
  EXPECT_EQ(Choose("q4_k_m", "token_embd.weight", {256, 999}, false).type, TensorType::kQ4_K);
  EXPECT_EQ(Choose("q4_k_m", "output.weight", {256, 999}, false).type, TensorType::kQ6_K);
}

TEST(Mix, NamesThatOnlyLookAlikeAreNotLifted) {
  for (const char* name : {"blk.attn_v.weight", "blk.3attn_v.weight", "blk.-3.attn_v.weight",
                           "blk.3.attn_v.weights", "blk.99999999999999999999.attn_v.weight",
                           "blk.3.", "blk.3", "xblk.3.attn_v.weight", "blk.3.x.attn_v.weight"}) {
    EXPECT_EQ(Choose("q4_k_m", name, {256, 64}).type, TensorType::kQ4_K) << name;
  }
}

TEST(Mix, Q40KeepsOnlyTheOutputTableFiner) {
  EXPECT_EQ(Choose("q4_0", "blk.3.attn_v.weight", {256, 64}).type, TensorType::kQ4_0);
  EXPECT_EQ(Choose("q4_0", "token_embd.weight", {256, 999}, true).type, TensorType::kQ6_K);
  EXPECT_EQ(Choose("q4_0", "token_embd.weight", {256, 999}, false).type, TensorType::kQ4_0);
  EXPECT_EQ(Choose("q4_0", "output.weight", {256, 999}, false).type, TensorType::kQ6_K);
}

// Each layer of the file, so that an exception for one layer cannot leak into another.
TEST(Mix, ExceptionsTouchWhatTheyNameAlone) {
  for (int layer = 0; layer < 12; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    for (const char* part :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"}) {
      const std::string name = block + part + ".weight";
      const TensorType plain = Choose("q4_k_m", name, {256, 64}).type;
      const bool output = std::string_view(part) == "attn_output";
      const bool gate = std::string_view(part) == "ffn_gate";
      EXPECT_EQ(Choose("mixed", name, {256, 64}).type, output ? TensorType::kQ8_0
                                                       : gate ? TensorType::kQ5_0
                                                              : plain)
          << name;
      EXPECT_EQ(Choose("q4_k_m_f32", name, {256, 64}).type,
                output && layer == 1 ? TensorType::kF32 : plain)
          << name;
    }
  }
  for (const char* mix : {"mixed", "q4_k_m_f32"}) {
    EXPECT_EQ(Choose(mix, "token_embd.weight", {256, 999}, true).type, TensorType::kQ6_K) << mix;
  }
}

TEST(Mix, PlainMixesSpareNoMatrix) {
  EXPECT_EQ(Choose("f16", "token_embd.weight", {250, 9}).type, TensorType::kF16);
  EXPECT_EQ(Choose("f32", "blk.0.attn_q.weight", {250, 9}).type, TensorType::kF32);
}

TEST(Mix, VectorsAreF32AndDeepTensorsStay) {
  for (const char* mix : {"q4_k_m", "mixed", "q4_k_m_f32", "q4_0", "f16", "f32"}) {
    EXPECT_EQ(Choose(mix, "output_norm.weight", {256}).type, TensorType::kF32) << mix;
    EXPECT_EQ(Choose(mix, "conv.weight", {256, 2, 2}).type, TensorType::kBF16) << mix;
  }
}

TEST(Mix, RowsThatFitNoBlockFallBackAndSayWhy) {
  const MixChoice q4_k = Choose("q4_k_m", "blk.0.attn_q.weight", {288, 4});
  EXPECT_EQ(q4_k.type, TensorType::kQ5_0);
  EXPECT_EQ(q4_k.fallback, "q4_K needs rows of 256; q5_0 used");
  const MixChoice q6_k = Choose("q4_0", "token_embd.weight", {320, 4});
  EXPECT_EQ(q6_k.type, TensorType::kQ8_0);
  EXPECT_EQ(q6_k.fallback, "q6_K needs rows of 256; q8_0 used");
  const MixChoice q5_0 = Choose("mixed", "blk.0.ffn_gate.weight", {100, 4});
  EXPECT_EQ(q5_0.type, TensorType::kF16);
  EXPECT_EQ(q5_0.fallback, "q5_0 needs rows of 32; f16 used");
  for (const char* name : {"blk.0.attn_q.weight", "token_embd.weight"}) {
    const MixChoice odd = Choose("q4_k_m", name, {100, 4});
    EXPECT_EQ(odd.type, TensorType::kF16);
    EXPECT_EQ(odd.fallback,
              std::string(name[0] == 'b' ? "q4_K" : "q6_K") + " needs rows of 256; f16 used");
  }
  EXPECT_EQ(Choose("q4_0", "blk.0.attn_q.weight", {100, 4}).fallback,
            "q4_0 needs rows of 32; f16 used");
  EXPECT_EQ(Choose("q4_0", "blk.0.attn_q.weight", {288, 4}).fallback, "");
}

Result<MixModel> ModelOf(const char* mix, GgufWriter writer) {
  const std::string bytes = writer.Head() + std::string(64, '\0');
  const Result<GgufFile> file = GgufFile::Parse(AsBytes(bytes));
  EXPECT_TRUE(file.ok()) << file.status().message();
  return ReadMixModel(Named(mix), *file);
}

TEST(Mix, AsksTheFileForItsLayersOnlyWhereTheMixCounts) {
  GgufWriter writer;
  writer.AddTensor("output.weight", TensorType::kF32, {4, 2});
  EXPECT_TRUE(ModelOf("q4_0", writer).ok());
  EXPECT_FALSE(ModelOf("q4_0", writer)->tied);
  EXPECT_TRUE(ModelOf("f16", GgufWriter())->tied);
  EXPECT_EQ(ModelOf("q4_k_m", writer).status().message(), "missing key 'general.architecture'");
  writer.SetKey("general.architecture", GgufString("qwen2"));
  EXPECT_EQ(ModelOf("q4_k_m", writer).status().message(), "missing key 'qwen2.block_count'");
  writer.SetKey("qwen2.block_count", GgufU32(0));
  EXPECT_EQ(ModelOf("q4_k_m", writer).status().message(),
            "key 'qwen2.block_count' is 0; it must be 1 to 65536");
  writer.SetKey("qwen2.block_count", GgufU32(6));
  EXPECT_EQ(ModelOf("q4_k_m", writer)->layers, 6);
}

}  // namespace
}  // namespace fg
