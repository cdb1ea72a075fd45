// The ids of the highest logits, without the logits.
#include <gtest/gtest.h>

#include "engine/session/engine.h"
#include "engine/session/engine_testing.h"
#include "engine/session/sampler.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of engine_testing.h

TEST(EngineArgmax, IsThatOfTheLogitsInPiecesToo) {
  TestEngine test(NarrowModel(), {});
  const std::vector<int32_t> tokens = RandomTokens(40, 2);
  const std::vector<float> logits = test.Logits(tokens);
  std::vector<int32_t> expected = {-7};  // what is there stays
  for (size_t row = 0; row < tokens.size(); ++row) {
    expected.push_back(*Greedy(std::span(logits).subspan(row * 261, 261)));
  }
  for (const int64_t piece : {0, 16, 7}) {
    for (const bool both : {false, true}) {
      auto session = test.engine->NewSession().value();
      std::vector<int32_t> ids = {-7};
      std::vector<float> taken;
      ForwardOptions options = {.rows_per_forward = piece};
      options.argmax = &ids;
      ASSERT_TRUE(session->Forward(tokens, 0, options, both ? &taken : nullptr).ok());
      EXPECT_EQ(ids, expected) << piece;
      EXPECT_EQ(taken.size(), both ? logits.size() : 0u);
    }
  }
}

TEST(EngineArgmax, NothingIsAppendedAfterAnErrorOrWithoutWantedTokens) {
  TestEngine test(NarrowModel(), {});
  auto session = test.engine->NewSession().value();
  std::vector<int32_t> ids = {5};
  ForwardOptions options;
  options.argmax = &ids;
  EXPECT_TRUE(session->Forward(RandomTokens(20, 1), 20, options, nullptr).ok());
  options.violation = Violation::kDeadWrite;
  EXPECT_EQ(session->Forward(RandomTokens(20, 1), 0, options, nullptr).kind(),
            ErrorKind::kBadRequest);
  EXPECT_EQ(ids, (std::vector<int32_t>{5}));
  EXPECT_EQ(session->position(), 20);
  const Status nowhere = session->Forward(RandomTokens(20, 1), 0, {}, nullptr);
  EXPECT_EQ(nowhere.message(), "a forward's results are wanted and have no place");
}

TEST(EngineArgmax, ARowOfNanHasNone) {
  TinyModelSpec spec;
  spec.type = TensorType::kF16;
  spec.edit = [](const std::string& name, std::vector<float>* values) {
    if (name == "token_embd.weight") (*values)[7 * 64] = 1e9f;  // infinity in f16
  };
  TestEngine test(WriteTinyModel(spec), {});
  auto session = test.engine->NewSession().value();
  std::vector<int32_t> ids;
  ForwardOptions options;
  options.argmax = &ids;
  ASSERT_TRUE(session->Forward(std::vector<int32_t>{7}, 0, options, nullptr).ok());
  EXPECT_EQ(ids, (std::vector<int32_t>{-1}));
}

}  // namespace
}  // namespace fg
