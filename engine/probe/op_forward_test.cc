#include "engine/probe/op_forward.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "engine/probe/op_testing.h"
#include "engine/session/engine_testing.h"

namespace fg {
namespace {

using testing::Environment;
using testing::MixedModel;
using testing::RandomTokens;
using testing::TestEngine;

Environment Full(const std::string& mode) {
  return {"FG_MMQ=1",        "FG_MMQ_RAW=1",         "FG_MMQ_RAW_NB=1", "FG_MMQ_A_TRANSPOSE=1",
          "FG_MMQ_Q6K_NB=1", "FG_MMQ_A_FUSE=" + mode};
}

class Forward : public Op {
 protected:
  Result<Json> Ask(TestEngine& test, Violation violation = Violation::kNone) {
    request_.op = "forward";
    request_.out = folder_ + "/out";
    request_.violation = violation;
    return RunForwardOp(request_, *test.engine, &test.ledger);
  }
  std::string Mistake(TestEngine& test) {
    const auto answer = Ask(test);
    EXPECT_EQ(answer.status().kind(), ErrorKind::kUsage);
    return answer.status().message();
  }
};

TEST_F(Forward, GivesTheLogitsOfTheLastWantedTokens) {
  TestEngine test(MixedModel(), Full("2"));
  const std::vector<int32_t> tokens = RandomTokens(20, 1);
  Put("tokens", "i32", {20}, tokens);
  request_.params["wanted"] = 3;
  const auto answer = Ask(test);
  const std::vector<float> logits = Values(answer, "logits");
  EXPECT_EQ((*answer)["outputs"]["logits"]["shape"], Json::array({3, 261}));
  EXPECT_TRUE(testing::SameBits(logits, test.Logits(tokens, 17)));
  EXPECT_NE(Labels(answer).find("prefill rms_norm rms_norm.fuse2 3"), std::string::npos);
}

TEST_F(Forward, ABrokenPromiseIsRefusedAndNothingIsWritten) {
  TestEngine test(MixedModel(), Full("2"));
  Put("tokens", "i32", {20}, RandomTokens(20, 1));
  request_.params["wanted"] = 1;
  for (const Violation violation : {Violation::kDeadWrite, Violation::kStalePlane}) {
    const auto answer = Ask(test, violation);
    EXPECT_EQ(answer.status().kind(), ErrorKind::kRefused);
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/out/logits.bin"));
    ASSERT_FALSE(test.ledger.counts().refusals.empty());
    EXPECT_EQ(test.ledger.counts().refusals.back(), answer.status().message());
  }
  EXPECT_EQ(test.ledger.counts().refusals.size(), 2u);
  EXPECT_TRUE(Ask(test).ok());
}

TEST_F(Forward, AViolationThatCannotAriseIsABadRequest) {
  TestEngine test(MixedModel(), Full("1"));
  Put("tokens", "i32", {20}, RandomTokens(20, 1));
  request_.params["wanted"] = 1;
  const auto answer = Ask(test, Violation::kDeadWrite);
  EXPECT_EQ(answer.status().kind(), ErrorKind::kBadRequest);
  EXPECT_TRUE(answer.status().message().starts_with("the violation dead_write cannot arise"));
}

TEST_F(Forward, RefusesWhatItCannotRun) {
  TestEngine test(MixedModel(), {});
  Put("tokens", "i32", {15}, RandomTokens(15, 1));
  EXPECT_EQ(Mistake(test), "op.params.wanted: is missing");
  request_.params["wanted"] = 1;
  EXPECT_EQ(Mistake(test), "op.inputs.tokens.shape[0]: must be at least 16, is 15");
  std::vector<int32_t> tokens = RandomTokens(16, 1);
  Put("tokens", "i32", {16}, tokens);
  for (const double wanted : {0.0, 17.0, 1.5}) {
    request_.params["wanted"] = wanted;
    EXPECT_EQ(Mistake(test), "op.params.wanted: must be a whole number from 1 to the 16 tokens");
  }
  request_.params["wanted"] = 1;
  tokens[3] = 261;
  Put("tokens", "i32", {16}, tokens);
  EXPECT_EQ(Mistake(test), "op.inputs.tokens: id 261 of token 3 is outside the vocabulary of 261");
}

}  // namespace
}  // namespace fg
