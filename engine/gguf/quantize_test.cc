#include "engine/gguf/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "engine/gguf/gguf_testing.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/encode.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

struct Planned {
  std::string name;
  TensorType type;
  std::vector<uint64_t> shape;
};

// Two layers of a tied model; of 2 layers q4_k_m lifts layer 1 alone.
const std::vector<Planned> kModel = {
    {"token_embd.weight", TensorType::kF16, {256, 40}},
    {"blk.0.attn_norm.weight", TensorType::kF32, {256}},
    {"blk.0.attn_q.weight", TensorType::kF16, {256, 5}},
    {"blk.0.attn_v.weight", TensorType::kF32, {256, 3}},
    {"blk.0.attn_v.bias", TensorType::kF16, {3}},
    {"blk.1.attn_v.weight", TensorType::kBF16, {256, 3}},
    {"blk.1.ffn_down.weight", TensorType::kF16, {512, 7}},
    {"blk.1.ffn_up.weight", TensorType::kQ6_K, {256, 2}},
    {"blk.0.attn_output.weight", TensorType::kF16, {256, 3}},
    {"blk.1.attn_output.weight", TensorType::kQ8_0, {256, 3}},
    {"blk.1.ffn_gate.weight", TensorType::kQ5_0, {256, 3}},
};

class QuantizeTest : public testing::Test {
 protected:
  QuantizeTest() : folder_(fg::ProcessTempDir() + "quantize." + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~QuantizeTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  // Writes a file of seeded values; value `at` of tensor `odd` becomes `value`.
  std::string WriteModel(const std::vector<Planned>& model, const std::string& odd = "",
                         size_t at = 0, float value = 0) {
    GgufWriter writer;
    writer.SetKey("general.architecture", GgufString("qwen2"));
    writer.SetKey("general.file_type", GgufU32(1));
    writer.SetKey("qwen2.block_count", GgufU32(2));
    std::mt19937 random(7);
    std::vector<std::string> data;
    for (const Planned& planned : model) {
      writer.AddTensor(planned.name, planned.type, planned.shape);
      std::vector<float> values(writer.tensors().back().values());
      for (float& x : values)
        x = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 4096;
      if (planned.name == odd) values[at] = value;
      data.emplace_back(writer.tensors().back().bytes, '\0');
      const bool built = EncodeRow(planned.type, values.data(), static_cast<int64_t>(values.size()),
                                   data.back().data());
      EXPECT_EQ(built, InfoOf(planned.type).computable) << planned.name;
    }
    EXPECT_TRUE(WriteFileAtomic(Path("in.gguf"), writer.Bytes(data)).ok());
    return Path("in.gguf");
  }

  QuantizeSummary Quantize(const std::string& mix) {
    Result<QuantizeSummary> summary = QuantizeFile(Path("in.gguf"), Path(mix), mix);
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return summary.ok() ? *summary : QuantizeSummary();
  }

  std::string Error(const std::string& mix) {
    const Result<QuantizeSummary> summary = QuantizeFile(Path("in.gguf"), Path("out.gguf"), mix);
    EXPECT_FALSE(std::filesystem::exists(Path("out.gguf")));
    EXPECT_EQ(summary.status().kind(), ErrorKind::kBadModel);
    return summary.status().message();
  }

  const std::string folder_;
};

// An output file held open for reading.
struct Opened {
  explicit Opened(const std::string& path) {
    mapped = std::move(MappedFile::Open(path)).value();
    Result<GgufFile> parsed = GgufFile::Parse(mapped.bytes());
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    if (parsed.ok()) file = std::move(*parsed);
  }

  TensorType TypeOf(const char* name) const { return file.FindTensor(name)->type; }

  std::vector<double> Values(const std::string& name) const {
    const GgufTensor* tensor = file.FindTensor(name);
    std::vector<double> values(tensor->values());
    EXPECT_TRUE(DequantizeRowExact(tensor->type, tensor->data, static_cast<int64_t>(values.size()),
                                   values.data()));
    return values;
  }

  MappedFile mapped;
  GgufFile file;
};

// The largest difference of two tensors over the largest value; infinite for a NaN.
double Deviation(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0, scale = 0;
  if (a.size() != b.size()) return INFINITY;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= INFINITY)) return INFINITY;
    worst = std::max(worst, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(a[i]));
  }
  return worst / scale;
}

TEST_F(QuantizeTest, Q4KMGivesEachTensorItsType) {
  WriteModel(kModel);
  const QuantizeSummary summary = Quantize("q4_k_m");
  const Opened out(Path("q4_k_m"));
  EXPECT_EQ(out.TypeOf("token_embd.weight"), TensorType::kQ6_K);
  EXPECT_EQ(out.TypeOf("blk.0.attn_norm.weight"), TensorType::kF32);
  EXPECT_EQ(out.TypeOf("blk.0.attn_q.weight"), TensorType::kQ4_K);
  EXPECT_EQ(out.TypeOf("blk.0.attn_v.weight"), TensorType::kQ4_K);
  EXPECT_EQ(out.TypeOf("blk.0.attn_v.bias"), TensorType::kF32);
  EXPECT_EQ(out.TypeOf("blk.1.attn_v.weight"), TensorType::kQ6_K);
  EXPECT_EQ(out.TypeOf("blk.1.ffn_down.weight"), TensorType::kQ6_K);
  EXPECT_EQ(out.TypeOf("blk.1.ffn_up.weight"), TensorType::kQ4_K);
  EXPECT_THAT(summary.tensors_per_type,
              ElementsAre(Pair("f32", 2), Pair("q4_K", 6), Pair("q6_K", 3)));
  EXPECT_THAT(summary.fallbacks, IsEmpty());
  EXPECT_EQ(summary.input_bytes, std::filesystem::file_size(Path("in.gguf")));
  EXPECT_EQ(summary.output_bytes, std::filesystem::file_size(Path("q4_k_m")));
  EXPECT_LT(summary.output_bytes, summary.input_bytes / 2);
}

TEST_F(QuantizeTest, MixesWithOtherTypes) {
  WriteModel(kModel);
  EXPECT_THAT(Quantize("mixed").tensors_per_type,
              ElementsAre(Pair("f32", 2), Pair("q5_0", 1), Pair("q8_0", 2), Pair("q4_K", 3),
                          Pair("q6_K", 3)));
  const Opened mixed(Path("mixed"));
  EXPECT_EQ(mixed.TypeOf("blk.0.attn_output.weight"), TensorType::kQ8_0);
  EXPECT_EQ(mixed.TypeOf("blk.1.ffn_gate.weight"), TensorType::kQ5_0);
  EXPECT_THAT(Quantize("q4_k_m_f32").tensors_per_type,
              ElementsAre(Pair("f32", 3), Pair("q4_K", 5), Pair("q6_K", 3)));
  const Opened one(Path("q4_k_m_f32"));
  EXPECT_EQ(one.TypeOf("blk.0.attn_output.weight"), TensorType::kQ4_K);
  EXPECT_EQ(one.TypeOf("blk.1.attn_output.weight"), TensorType::kF32);
}

TEST_F(QuantizeTest, KeysAreKeptAndTheFileTypeRenewed) {
  WriteModel(kModel);
  const std::pair<const char*, uint64_t> expected[] = {
      {"f32", 0}, {"f16", 1}, {"q4_0", 2}, {"q4_k_m", 15}, {"mixed", 15}, {"q4_k_m_f32", 15}};
  for (const auto& [mix, file_type] : expected) {
    Quantize(mix);
    const Opened out(Path(mix));
    EXPECT_EQ(*out.file.GetUnsigned("general.file_type"), file_type) << mix;
    EXPECT_EQ(*out.file.GetUnsigned("general.quantization_version"), 2u) << mix;
    EXPECT_EQ(*out.file.GetString("general.architecture"), "qwen2") << mix;
    EXPECT_EQ(*out.file.GetUnsigned("qwen2.block_count"), 2u) << mix;
    EXPECT_EQ(out.file.keys().size(), 4u) << mix;
  }
}

TEST_F(QuantizeTest, ValuesStayNearTheirSource) {
  WriteModel(kModel);
  const Opened in(Path("in.gguf"));
  // Half a step of the coarsest format of the mix, over the largest value: 4 bits with a sign have
  // 8 steps to one side, 4 bits between minimum and maximum 15 over both.
  const std::pair<const char*, double> limits[] = {{"f32", 0},      {"f16", 0x1p-11},
                                                   {"q4_0", 0.13},  {"q4_k_m", 0.09},
                                                   {"mixed", 0.09}, {"q4_k_m_f32", 0.09}};
  for (const auto& [mix, limit] : limits) {
    Quantize(mix);
    const Opened out(Path(mix));
    double worst = 0;
    for (const Planned& planned : kModel) {
      const double deviation = Deviation(in.Values(planned.name), out.Values(planned.name));
      EXPECT_LE(deviation, limit) << mix << " " << planned.name;
      worst = std::max(worst, deviation);
    }
    if (limit > 0.01) {
      EXPECT_GT(worst, limit / 8) << mix << ": nothing was rounded";
    }
  }
}

TEST_F(QuantizeTest, ATensorThatHasItsTypeIsCopied) {
  WriteModel(kModel);
  Quantize("f16");
  const Opened in(Path("in.gguf")), out(Path("f16"));
  const GgufTensor* before = in.file.FindTensor("blk.0.attn_q.weight");
  const GgufTensor* after = out.file.FindTensor("blk.0.attn_q.weight");
  ASSERT_EQ(before->bytes, after->bytes);
  EXPECT_TRUE(std::equal(before->data, before->data + before->bytes, after->data));
}

TEST_F(QuantizeTest, ThreadsAndRepetitionChangeNoByte) {
  WriteModel(kModel);
  const int threads_before = omp_get_max_threads();
  for (const std::string& mix : QuantizeMixes()) {
    omp_set_num_threads(1);
    Quantize(mix);
    const std::string expected = *ReadFile(Path(mix));
    for (const int threads : {1, 2, 3}) {
      omp_set_num_threads(threads);
      Quantize(mix);
      EXPECT_TRUE(*ReadFile(Path(mix)) == expected) << mix << " with " << threads << " threads";
    }
  }
  omp_set_num_threads(threads_before);
}

TEST_F(QuantizeTest, FallbacksAreListedByTensor) {
  WriteModel({{"blk.0.attn_q.weight", TensorType::kF32, {288, 4}},
              {"blk.0.attn_k.weight", TensorType::kF32, {512, 2}},
              {"token_embd.weight", TensorType::kF32, {100, 4}}});
  EXPECT_THAT(Quantize("q4_k_m").fallbacks,
              ElementsAre("blk.0.attn_q.weight: q4_K needs rows of 256; q5_0 used",
                          "token_embd.weight: q6_K needs rows of 256; f16 used"));
  const Opened in(Path("in.gguf")), out(Path("q4_k_m"));
  EXPECT_EQ(out.TypeOf("blk.0.attn_q.weight"), TensorType::kQ5_0);
  EXPECT_EQ(out.TypeOf("token_embd.weight"), TensorType::kF16);
  const double deviation =
      Deviation(in.Values("blk.0.attn_q.weight"), out.Values("blk.0.attn_q.weight"));
  EXPECT_LE(deviation, 0.07);  // half of 16 steps to one side
  EXPECT_GT(deviation, 0.005);
}

TEST_F(QuantizeTest, TheInputIsNeverTheOutput) {
  const std::string path = WriteModel(kModel);
  const std::string before = *ReadFile(path);
  const auto summary = QuantizeFile(path, path, "q4_0");
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.status().kind(), ErrorKind::kUsage);
  EXPECT_EQ(summary.status().message(), path + ": is the input itself; name another file");
  EXPECT_TRUE(*ReadFile(path) == before);
}

TEST_F(QuantizeTest, ValuesThatTheTypeCannotHoldAreRefused) {
  const std::string path = WriteModel(kModel, "blk.0.attn_v.weight", 256 + 9, NAN);
  EXPECT_EQ(Error("q4_k_m"),
            path +
                ": tensor 'blk.0.attn_v.weight', row 1, value 9 is nan, and weights "
                "must be finite");
  WriteModel(kModel, "blk.0.attn_v.weight", 512 + 255, -INFINITY);
  EXPECT_EQ(Error("q4_0"),
            path +
                ": tensor 'blk.0.attn_v.weight', row 2, value 255 is -inf, and weights "
                "must be finite");
  WriteModel(kModel, "blk.0.attn_v.weight", 0, 65520.0f);
  EXPECT_EQ(Error("f16"),
            path +
                ": tensor 'blk.0.attn_v.weight', row 0, value 0 is 65520.000000, beyond "
                "f16, whose range ends at 65504");
  EXPECT_TRUE(QuantizeFile(path, Path("f32.gguf"), "f32").ok());
}

TEST_F(QuantizeTest, ATypeWithoutKernelsIsRefused) {
  const std::string path = WriteModel({{"blk.0.attn_q.weight", TensorType::kQ5_1, {256, 1}}});
  EXPECT_EQ(Error("q4_0"),
            path + ": tensor 'blk.0.attn_q.weight' is q5_1, which this build cannot read");
}

TEST_F(QuantizeTest, OtherErrorsNameFileMixOrKey) {
  const std::string path = WriteModel(kModel);
  const auto status = QuantizeFile(path, Path("out.gguf"), "q4_km").status();
  EXPECT_EQ(status.kind(), ErrorKind::kUsage);
  EXPECT_EQ(status.message(),
            "unknown mix 'q4_km'; known: q4_k_m, mixed, q4_k_m_f32, q4_0, f16, f32; did you mean "
            "'q4_k_m'?");
  const auto missing = QuantizeFile(Path("none.gguf"), Path("out.gguf"), "f16").status();
  EXPECT_EQ(missing.kind(), ErrorKind::kIo);
  EXPECT_EQ(missing.message(), Path("none.gguf") + ": No such file or directory");
  const auto unwritable = QuantizeFile(path, Path("none/out.gguf"), "f16").status();
  EXPECT_EQ(unwritable.kind(), ErrorKind::kIo);
  EXPECT_EQ(unwritable.message(),
            Path("none/out.gguf") + ": cannot write: No such file or directory");
  ASSERT_TRUE(WriteFileAtomic(path, "GGUF").ok());
  EXPECT_EQ(Error("f16"), path + ": truncated at byte 4: the version needs 4 bytes, 0 remain");
}

}  // namespace
}  // namespace fg
