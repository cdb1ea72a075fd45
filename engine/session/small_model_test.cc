// The committed model against the float64 oracle's pins (docs/oracle.md): it tokenizes the prompts
// as the oracle did, follows its tokens within the stated tolerance on both paths, and writes its
// text.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"
#include "engine/gguf/quantize.h"
#include "engine/session/generate.h"
#include "engine/testing/test_engine.h"

namespace fg {
namespace {

using testing::TestEngine;
using Json = nlohmann::json;

const std::string kFixtures = std::string(FG_SOURCE_DIR) + "/fixtures";
const std::string kSmallF16 = kFixtures + "/models/small.f16.gguf";

struct Pins {
  explicit Pins(const std::string& model) : folder(kFixtures + "/pins/models/" + model + "/") {
    index = Json::parse(ReadFile(folder + "index.json").value());
  }
  std::vector<float> Logits(const Json& prompt) const {
    const std::string bytes =
        ReadFile(folder + prompt.at("logits").at("file").get<std::string>()).value();
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }
  std::string folder;
  Json index;
};

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return std::nan("");
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::nan("");
    largest = std::max(largest, std::fabs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

// Logits along the oracle's tokens, fed as a prompt and then one by one.
std::vector<float> Follow(TestEngine& test, const std::vector<int32_t>& ids,
                          const std::vector<int32_t>& tokens) {
  auto session = test.engine->NewSession().value();
  std::vector<float> logits;
  EXPECT_TRUE(session->Forward(ids, ids.size() - 1, {}, &logits).ok());
  for (const int32_t token : tokens) {
    EXPECT_TRUE(session->Forward({&token, 1}, 0, {}, &logits).ok());
  }
  return logits;
}

void ExpectPins(const std::string& model_path, const std::string& model,
                const std::vector<std::string>& environment, const std::string& path) {
  const Pins pins(model);
  TestEngine test(model_path, environment, {});
  ASSERT_EQ(test.engine->summary().sha256, pins.index.at("model").at("sha256")) << "renew the pins";
  const double tolerance = pins.index.at("tolerance").at(path).get<double>();
  ASSERT_GE(pins.index.at("prompts").size(), 3u);
  for (const Json& prompt : pins.index.at("prompts")) {
    const auto ids = prompt.at("ids").get<std::vector<int32_t>>();
    const std::string text =
        ReadFile(kFixtures + "/prompts/" + prompt.at("file").get<std::string>()).value();
    EXPECT_EQ(test.engine->tokenizer().Encode(text), ids);
    const auto tokens = prompt.at("tokens").get<std::vector<int32_t>>();
    const std::vector<float> got = Follow(test, ids, tokens), want = pins.Logits(prompt);
    EXPECT_LE(LargestDifference(got, want), tolerance) << prompt.at("name");
    // Another prompt's logits are no match.
    std::vector<int32_t> backwards(ids.rbegin(), ids.rend());
    EXPECT_GT(LargestDifference(Follow(test, backwards, tokens), want), 10 * tolerance);
  }
}

const std::vector<std::string> kNibble = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1"};

// A variant of the model, as the pins know it.
std::string Variant(const std::string& mix) {
  const std::string path = fg::ProcessTempDir() + "/small-model-test." + mix + ".gguf";
  EXPECT_TRUE(QuantizeFile(kSmallF16, path, mix).ok());
  return path;
}

TEST(SmallModel, F16FollowsTheOracle) { ExpectPins(Variant("f16"), "small.f16", {}, "f16"); }

TEST(SmallModel, QuantizedFollowsTheOracleOnBothPaths) {
  for (const std::string mix : {"q4_k_m", "q4_0"}) {
    const std::string path = Variant(mix);
    ExpectPins(path, "small." + mix, kNibble, "int8");
    ExpectPins(path, "small." + mix, {}, "f16");
  }
}

TEST(SmallModel, WritesTheOraclesText) {
  const Pins pins("small.f16");
  TestEngine test(kSmallF16, {}, {});
  for (const Json& prompt : pins.index.at("prompts")) {
    Conversation conversation;
    conversation.session = test.engine->NewSession().value();
    const auto generation =
        Generate(*test.engine, conversation, prompt.at("ids").get<std::vector<int32_t>>(),
                 {.max_tokens = 12, .stop_at_eos = false}, nullptr);
    ASSERT_TRUE(generation.ok());
    const double tolerance = pins.index.at("tolerance").at("f16").get<double>();
    // Up to the first step where rounding may decide.
    size_t compared = 0;
    for (; compared < 12; ++compared) {
      if (prompt.at("margins").at(compared).get<double>() <= 2 * tolerance) break;
      EXPECT_EQ(generation->tokens[compared], prompt.at("tokens").at(compared).get<int32_t>())
          << prompt.at("name") << " step " << compared;
    }
    EXPECT_GT(compared, 0u) << prompt.at("name");
  }
}

}  // namespace
}  // namespace fg
