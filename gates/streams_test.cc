#include "gates/streams.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gates/model_pins.h"

namespace flipgate {
namespace {

Stream MakeStream(std::vector<int64_t> tokens) {
  Stream stream;
  stream.prompt = "verse";
  stream.prompt_tokens = {1, 2};
  stream.tokens = std::move(tokens);
  for (const int64_t token : stream.tokens) {
    stream.digests.push_back("d" + std::to_string(token));
    stream.top.push_back({5.0, 3.5});
    stream.top_tokens.push_back({token, token + 1});
  }
  return stream;
}

TEST(Streams, EqualOnesHaveNoFork) {
  EXPECT_EQ(FindFork({MakeStream({7, 8})}, "old", {MakeStream({7, 8})}, "new"), std::nullopt);
}

TEST(Streams, AForkIsExplained) {
  EXPECT_EQ(FindFork({MakeStream({7, 8})}, "old", {MakeStream({7, 9})}, "new"),
            "prompt 'verse', step 1: the streams fork: old chose token 8 (margin 1.5), new chose "
            "token 9 (margin 1.5)");
}

TEST(Streams, OtherLogitsBehindTheSameTokenAreAFork) {
  Stream other = MakeStream({7, 8});
  other.digests[0] = "x";
  EXPECT_EQ(FindFork({MakeStream({7, 8})}, "old", {other}, "new"),
            "prompt 'verse', step 0: same token, other logits: old chose token 7 (margin 1.5), new "
            "chose token 7 "
            "(margin 1.5)");
}

TEST(Streams, UnequalLengthsAndEmptinessAreForks) {
  EXPECT_EQ(FindFork({MakeStream({7, 8})}, "old", {MakeStream({7})}, "new"),
            "prompt 'verse', step 1: the streams fork: old chose token 8 (margin 1.5), new chose "
            "nothing");
  EXPECT_EQ(FindFork({}, "old", {}, "new"), "old gave 0 streams, new gave 0");
  EXPECT_EQ(FindFork({MakeStream({})}, "old", {MakeStream({})}, "new"),
            "prompt 'verse': no token to compare");
}

TEST(Streams, TheDigestTellsTokensAndLogitsApart) {
  Stream other = MakeStream({7, 8});
  other.digests[1] = "x";
  EXPECT_NE(StreamsDigest({MakeStream({7, 8})}), StreamsDigest({other}));
  EXPECT_NE(StreamsDigest({MakeStream({7, 8})}), StreamsDigest({MakeStream({7})}));
}

const std::vector<std::string> kInt8 = {"prefill matmul mmq.q4_K.nb"};

ModelPins MakePins(std::vector<int64_t> tokens, std::vector<double> margins) {
  ModelPins pins;
  pins.tolerances = {{"int8", 0.5}, {"f16", 0.1}};
  PromptPins prompt;
  prompt.name = "verse";
  prompt.ids = {1, 2};
  prompt.tokens = std::move(tokens);
  prompt.margins = std::move(margins);
  pins.prompts.push_back(prompt);
  return pins;
}

TEST(ModelPins, TokensMustEqualWhereTheMarginIsAboveTheTolerance) {
  const auto same = CompareWithPins({MakeStream({7, 8})}, kInt8, MakePins({7, 8}, {1, 1}));
  EXPECT_EQ(same.fault, std::nullopt);
  EXPECT_EQ(same.compared, 2);
  EXPECT_EQ(same.WhyNot(), std::nullopt);
  const auto other = CompareWithPins({MakeStream({7, 8})}, kInt8, MakePins({7, 9}, {1, 1}));
  EXPECT_EQ(other.fault,
            "prompt 'verse', step 1: token 8 (margin 1.5), but the float64 oracle chose 9 (margin "
            "1, above the "
            "tolerance 0.5)");
}

TEST(ModelPins, WithinTheToleranceAPromptMayForkAndIsComparedNoFurther) {
  const auto free =
      CompareWithPins({MakeStream({7, 8, 3})}, kInt8, MakePins({7, 9, 4}, {1, 0.4, 9}));
  EXPECT_EQ(free.fault, std::nullopt);
  EXPECT_EQ(free.compared, 1);
  EXPECT_EQ(free.free, 1);
}

TEST(ModelPins, ThePathThatWasDispatchedSetsTheTolerance) {
  EXPECT_EQ(PinnedPath({"prefill matmul gemm.f16.q4_K", "decode matmul row.q4_K"}), "int8");
  EXPECT_EQ(PinnedPath({"prefill matmul gemm.f16.q4_K", "prefill matmul row.q4_K"}), "f16");
  EXPECT_EQ(PinnedPath({"prefill matmul gemm.f16.f16", "decode matmul row.f16"}), "f16");
  const auto strict =
      CompareWithPins({MakeStream({7, 8})}, {"decode matmul row.f16"}, MakePins({7, 9}, {1, 0.4}));
  EXPECT_NE(strict.fault, std::nullopt);
}

TEST(ModelPins, AnUnpinnedPromptComparesNothing) {
  Stream stream = MakeStream({7});
  stream.prompt = "other";
  EXPECT_EQ(CompareWithPins({stream}, kInt8, MakePins({7}, {1})).compared, 0);
  EXPECT_EQ(CompareWithPins({stream}, kInt8, MakePins({7}, {1})).WhyNot(),
            "no token was held against the oracle");
}

}  // namespace
}  // namespace flipgate
