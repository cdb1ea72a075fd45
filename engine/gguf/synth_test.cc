#include "engine/gguf/synth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <span>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "engine/gguf/gguf.h"
#include "engine/gguf/quantize.h"
#include "engine/gguf/synth_shape.h"
#include "engine/model/hyperparameters.h"
#include "engine/model/weights.h"
#include "engine/tokenizer/tokenizer.h"

namespace fg {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

std::string Path(const std::string& name) { return ProcessTempDir() + name; }

SynthSummary Made(const std::string& path, const SynthOptions& options) {
  const auto made = SynthFile(path, options, {});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return made.ok() ? *made : SynthSummary();
}

std::string BytesOf(const SynthOptions& options) {
  const std::string path = Path("bytes.gguf");
  Made(path, options);
  return *ReadFile(path);
}

TEST(Synth, ASmallShapeIsAWholeModel) {
  for (const std::string& mix : QuantizeMixes()) {
    const std::string path = Path(mix + ".gguf");
    const SynthSummary summary = Made(path, {"narrow", mix});
    const std::string bytes = *ReadFile(path);
    EXPECT_EQ(summary.output_bytes, bytes.size());
    const auto file = GgufFile::Parse(std::as_bytes(std::span(bytes)));
    ASSERT_TRUE(file.ok()) << file.status().message();
    const auto model = ReadHyperparameters(*file);
    ASSERT_TRUE(model.ok()) << model.status().message();
    EXPECT_EQ(model->shape.width, 320);
    EXPECT_EQ(model->shape.ffn, 832);
    EXPECT_EQ(model->shape.layers, 2);
    EXPECT_FALSE(model->shape.tied_output);
    const auto weights = ModelWeights::Read(*file, model->shape);
    EXPECT_TRUE(weights.ok()) << weights.status().message();
    const auto tokenizer = Tokenizer::FromGguf(*file);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  }
}

TEST(Synth, NarrowRowsFallBackWithTheirReason) {
  const SynthSummary summary = Made(Path("narrow.gguf"), {"narrow", "q4_0"});
  EXPECT_THAT(summary.tensors_per_type,
              ElementsAre(Pair("f32", 11), Pair("q4_0", 15), Pair("q8_0", 1)));
  EXPECT_THAT(summary.fallbacks, ElementsAre("output.weight: q6_K needs rows of 256; q8_0 used"));
  EXPECT_EQ(summary.layers, 2);
  EXPECT_EQ(summary.parameters, 2419136);
}

TEST(Synth, BytesGoByTheOptionsAndNotByThreads) {
  const SynthOptions options = {"narrow", "q4_k_m", 3, 5};
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const std::string one = BytesOf(options);
  omp_set_num_threads(3);
  const std::string three = BytesOf(options);
  omp_set_num_threads(before);
  EXPECT_TRUE(one == three);  // no print of megabytes
  EXPECT_NE(BytesOf({"narrow", "q4_k_m", 1, 5}), BytesOf({"narrow", "q4_k_m", 1, 6}));
  EXPECT_NE(BytesOf({"narrow", "q4_k_m", 1, 5}), BytesOf({"narrow", "q4_k_m", 2, 5}));
}

// Widths and heads of the published config.json of each model.
TEST(Synth, TheShapesAreTheModels) {
  struct Row {
    std::string name;
    int64_t layers, width, ffn, heads, kv_heads, vocabulary;
    bool tied;
    int64_t parameters;  // as published, in millions
  };
  for (const Row& row :
       std::vector<Row>{{"qwen2.5-0.5b", 24, 896, 4864, 14, 2, 151936, true, 494},
                        {"qwen2.5-1.5b", 28, 1536, 8960, 12, 2, 151936, true, 1544},
                        {"qwen2.5-7b", 28, 3584, 18944, 28, 4, 152064, false, 7616}}) {
    bool found = false;
    for (const SynthShape& shape : AllSynthShapes()) {
      if (row.name != shape.name) continue;
      found = true;
      EXPECT_EQ(shape.layers, row.layers);
      EXPECT_EQ(shape.width, row.width);
      EXPECT_EQ(shape.ffn, row.ffn);
      EXPECT_EQ(shape.heads, row.heads);
      EXPECT_EQ(shape.kv_heads, row.kv_heads);
      EXPECT_EQ(shape.heads * shape.head_dim, shape.width);
      EXPECT_EQ(shape.vocabulary, row.vocabulary);
      EXPECT_EQ(shape.tied_output, row.tied);
      int64_t parameters = 0;
      for (const SynthTensor& tensor : SynthTensors(shape)) {
        int64_t values = 1;
        for (const uint64_t dimension : tensor.shape) values *= static_cast<int64_t>(dimension);
        parameters += values;
      }
      EXPECT_EQ((parameters + 500000) / 1000000, row.parameters) << row.name;
    }
    EXPECT_TRUE(found) << row.name;
  }
}

TEST(Synth, ProgressGoesUpToTheWholeFile) {
  std::vector<uint64_t> seen;
  uint64_t total = 0;
  const auto made =
      SynthFile(Path("progress.gguf"), {"narrow", "f16"}, [&](uint64_t done, uint64_t all) {
        seen.push_back(done);
        total = all;
      });
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_GT(seen.size(), 20u);
  EXPECT_EQ(seen.back(), total);
  EXPECT_EQ(total, made->output_bytes);
}

TEST(Synth, WhatCannotBeMeantIsSaidAndWritesNothing) {
  const std::string path = Path("none.gguf");
  const auto error = [&](const SynthOptions& options) {
    const auto made = SynthFile(path, options, {});
    EXPECT_EQ(made.status().kind(), ErrorKind::kUsage);
    return made.status().message();
  };
  EXPECT_EQ(error({"qwen2.5-1b", "q4_0"}),
            "unknown shape 'qwen2.5-1b'; known: qwen2.5-0.5b, qwen2.5-1.5b, qwen2.5-7b, narrow; "
            "did you mean 'qwen2.5-7b'?");
  EXPECT_THAT(error({"narrow", "q4_km"}), HasSubstr("unknown mix 'q4_km'; known: q4_k_m, "));
  EXPECT_THAT(error({"narrow", "q4_km"}), HasSubstr("; did you mean 'q4_k_m'?"));
  EXPECT_EQ(error({"narrow", "q4_0", -1}), "layers is -1; 1 to 1024, or 0 for the shape's 2");
  EXPECT_EQ(error({"narrow", "q4_0", 1025}), "layers is 1025; 1 to 1024, or 0 for the shape's 2");
  EXPECT_FALSE(ReadFile(path).ok());
  const auto missing = SynthFile("/proc/none/x.gguf", {"narrow", "q4_0"}, {});
  EXPECT_EQ(missing.status().kind(), ErrorKind::kIo);
  EXPECT_EQ(missing.status().message(),
            "/proc/none/x.gguf: cannot write: No such file or directory");
}

TEST(Synth, WhatDoesNotFitTheFileSystemIsRefused) {
  const std::string path = Path("huge.gguf");
  EXPECT_TRUE(CheckRoomFor(path, 1).ok());
  EXPECT_TRUE(CheckRoomFor("huge.gguf", 1).ok());  // of the folder that it is run in
  const Status full = CheckRoomFor(path, uint64_t{1} << 62);
  EXPECT_EQ(full.kind(), ErrorKind::kIo);
  EXPECT_THAT(full.message(), StartsWith(path + ": takes 4398046511104 MiB, and the file system "));
  EXPECT_THAT(full.message(), EndsWith(" MiB left; take fewer --layers or another place"));
}

}  // namespace
}  // namespace fg
