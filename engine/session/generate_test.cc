#include "engine/session/generate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/sha256.h"
#include "engine/session/sampler.h"
#include "engine/testing/test_engine.h"
#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

using testing::RandomTokens;
using testing::TestEngine;
using testing::TinyModelSpec;
using testing::WriteTinyModel;

TestEngine& Shared() {
  static TestEngine test(WriteTinyModel({}), {});
  return test;
}

Conversation Start(TestEngine& test) {
  Conversation conversation;
  conversation.session = test.engine->NewSession().value();
  return conversation;
}

Generation MustGenerate(TestEngine& test, Conversation& conversation,
                        const std::vector<int32_t>& prompt, const GenerateOptions& options) {
  auto generation = Generate(*test.engine, conversation, prompt, options, nullptr);
  EXPECT_TRUE(generation.ok()) << generation.status().message();
  return generation.ok() ? *generation : Generation{};
}

TEST(Generate, GreedyIsTheArgmaxOfEachStepsLogits) {
  TestEngine& test = Shared();
  const std::vector<int32_t> prompt = RandomTokens(20, 1);
  Conversation conversation = Start(test);
  std::vector<int32_t> heard;
  const auto generation =
      Generate(*test.engine, conversation, prompt,
               {.max_tokens = 5, .top = 3, .stop_at_eos = false, .digests = true},
               [&](int32_t token) { heard.push_back(token); });
  ASSERT_TRUE(generation.ok());
  EXPECT_EQ(generation->finish, "length");
  EXPECT_EQ(generation->tokens.size(), 5u);
  EXPECT_EQ(heard, generation->tokens);
  EXPECT_EQ(conversation.session->position(), 24);
  EXPECT_EQ(conversation.unfed, std::vector<int32_t>{generation->tokens.back()});
  // The same by hand.
  auto session = test.engine->NewSession().value();
  std::vector<float> logits;
  ASSERT_TRUE(session->Forward(prompt, 19, {}, &logits).ok());
  for (size_t step = 0; step < 5; ++step) {
    EXPECT_EQ(generation->tokens[step], Greedy(logits));
    EXPECT_EQ(generation->digests[step], Sha256Hex(std::as_bytes(std::span(logits))));
    EXPECT_EQ(generation->top[step], Highest(logits, 3));
    logits.clear();
    ASSERT_TRUE(session->Forward({&generation->tokens[step], 1}, 0, {}, &logits).ok());
  }
}

TEST(Generate, GreedyChoosesTheSameWithAndWithoutTheLogits) {
  TestEngine& test = Shared();
  const std::vector<int32_t> prompt = RandomTokens(20, 4);
  Conversation with = Start(test), without = Start(test);
  const GenerateOptions plain = {.max_tokens = 12, .stop_at_eos = false};
  GenerateOptions digests = plain;
  digests.digests = true;
  const Generation taken = MustGenerate(test, with, prompt, digests);
  const Generation left = MustGenerate(test, without, prompt, plain);
  EXPECT_EQ(left.tokens.size(), 12u);
  EXPECT_EQ(left.tokens, taken.tokens);
  EXPECT_TRUE(left.digests.empty());
}

TEST(Generate, AConversationGoesOnWhereItStopped) {
  TestEngine& test = Shared();
  const std::vector<int32_t> first = RandomTokens(6, 1), second = RandomTokens(7, 2);
  const GenerateOptions options = {.max_tokens = 4, .stop_at_eos = false, .digests = true};
  Conversation turns = Start(test);
  const Generation one = MustGenerate(test, turns, first, options);
  const Generation two = MustGenerate(test, turns, second, options);
  EXPECT_EQ(turns.session->position(), 6 + 4 + 7 + 3);
  // All that was fed, at once: rows below 16 give the same bits however they are cut.
  std::vector<int32_t> all = first;
  all.insert(all.end(), one.tokens.begin(), one.tokens.end());
  all.insert(all.end(), second.begin(), second.end());
  Conversation whole = Start(test);
  GenerateOptions pieces = options;
  pieces.forward.rows_per_forward = 15;
  EXPECT_EQ(MustGenerate(test, whole, all, pieces).digests, two.digests);
}

TEST(Generate, SamplingIsSeeded) {
  TestEngine& test = Shared();
  const auto run = [&](uint64_t seed, double temperature) {
    Conversation conversation = Start(test);
    GenerateOptions options = {.max_tokens = 20, .stop_at_eos = false};
    options.sampling = {.temperature = temperature, .seed = seed};
    return MustGenerate(test, conversation, RandomTokens(5, 1), options).tokens;
  };
  EXPECT_EQ(run(1, 1.0), run(1, 1.0));
  EXPECT_NE(run(1, 1.0), run(2, 1.0));
  EXPECT_EQ(run(1, 1e-4), run(2, 0));  // so cold that the highest alone has weight
  // Pinned: the draw is ours, so it is the same on every machine.
  EXPECT_EQ(run(7, 1.0), (std::vector<int32_t>{95, 7,   229, 147, 112, 55,  123, 108, 44,  103,
                                               26, 250, 232, 225, 220, 143, 215, 102, 168, 186}));
}

TEST(Generate, StopsAtTheEndToken) {
  TinyModelSpec spec;
  spec.edit = [](const std::string& name, std::vector<float>* values) {
    if (name == "output.weight") std::fill(values->begin(), values->end(), 0.0f);
  };
  // All logits are 0: greedy takes the lowest id, and never the end token.
  TestEngine flat(WriteTinyModel(spec), {});
  Conversation conversation = Start(flat);
  EXPECT_EQ(MustGenerate(flat, conversation, {1, 2}, {.max_tokens = 3}).tokens,
            (std::vector<int32_t>{0, 0, 0}));
  // A low id for the end: it is chosen at once, kept, and fed when the session goes on.
  spec.keys = [](GgufWriter* writer) { writer->SetKey("tokenizer.ggml.eos_token_id", GgufU32(0)); };
  TestEngine test(WriteTinyModel(spec), {});
  Conversation ended = Start(test);
  const Generation generation = MustGenerate(test, ended, {1, 2}, {.max_tokens = 9});
  EXPECT_EQ(generation.finish, "eos");
  EXPECT_EQ(generation.tokens, (std::vector<int32_t>{0}));
  EXPECT_EQ(ended.unfed, (std::vector<int32_t>{0}));
  EXPECT_EQ(MustGenerate(test, ended, {3}, {.max_tokens = 1}).finish, "eos");
  EXPECT_EQ(ended.session->position(), 4);
  Conversation ignored = Start(test);
  EXPECT_EQ(MustGenerate(test, ignored, {1}, {.max_tokens = 3, .stop_at_eos = false}).finish,
            "length");
}

TEST(Generate, EndsWithTheContext) {
  TestEngine test(WriteTinyModel({}), {}, {.context = 24, .batch = 8, .poison = true});
  Conversation conversation = Start(test);
  const Generation generation = MustGenerate(test, conversation, RandomTokens(20, 1),
                                             {.max_tokens = 50, .stop_at_eos = false});
  EXPECT_EQ(generation.finish, "context");
  // Positions 20 to 23 are fed; the last position's logits still choose a token.
  EXPECT_EQ(generation.tokens.size(), 5u);
  EXPECT_EQ(conversation.session->position(), 24);
  const auto more = Generate(*test.engine, conversation, RandomTokens(1, 1), {}, nullptr);
  EXPECT_EQ(more.status().kind(), ErrorKind::kBadRequest);
  EXPECT_EQ(more.status().message(), "2 tokens after position 24 do not fit the context of 24");
}

TEST(Generate, NothingToGenerateFeedsThePrompt) {
  TestEngine& test = Shared();
  Conversation conversation = Start(test);
  const Generation generation =
      MustGenerate(test, conversation, RandomTokens(5, 1), {.max_tokens = 0});
  EXPECT_TRUE(generation.tokens.empty());
  EXPECT_EQ(generation.finish, "length");
  EXPECT_EQ(conversation.session->position(), 5);
  EXPECT_TRUE(conversation.unfed.empty());
}

TEST(Generate, RefusesWhatCannotBeMeant) {
  TestEngine& test = Shared();
  Conversation conversation = Start(test);
  const auto message = [&](const std::vector<int32_t>& prompt, const GenerateOptions& options) {
    const auto generation = Generate(*test.engine, conversation, prompt, options, nullptr);
    EXPECT_EQ(generation.status().kind(), ErrorKind::kBadRequest);
    return generation.status().message();
  };
  EXPECT_EQ(message({}, {}), "the prompt is empty");
  EXPECT_EQ(message({1}, {.max_tokens = -1}), "max_tokens is -1; 0 or more");
  EXPECT_EQ(message({1}, {.top = 65}), "top is 65; expected 0 to 64");
  EXPECT_EQ(message({1}, {.sampling = {.top_p = 2}}),
            "top_p is 2.000000; expected a number above 0, up to 1");
  EXPECT_EQ(message({1, 500}, {}), "token 1 is 500; the vocabulary is 0 to 260");
  EXPECT_EQ(conversation.session->position(), 0);
}

TEST(Generate, NanLogitsAreAnErrorWhereTheyDecide) {
  TinyModelSpec spec;
  spec.type = TensorType::kF16;
  spec.edit = [](const std::string& name, std::vector<float>* values) {
    if (name == "token_embd.weight") (*values)[7 * 64] = 1e9f;  // infinity in f16
  };
  TestEngine test(WriteTinyModel(spec), {});
  Conversation conversation = Start(test);
  const auto greedy = Generate(*test.engine, conversation, std::vector<int32_t>{7}, {}, nullptr);
  EXPECT_EQ(greedy.status().kind(), ErrorKind::kInternal);
  EXPECT_EQ(greedy.status().message(), "step 0: all logits are NaN; no token can be chosen");
  Conversation other = Start(test);
  const auto sampled = Generate(*test.engine, other, std::vector<int32_t>{7},
                                {.sampling = {.temperature = 1}}, nullptr);
  EXPECT_EQ(sampled.status().kind(), ErrorKind::kInternal);
  EXPECT_EQ(sampled.status().message(),
            "step 0: the logits hold NaN or infinity; nothing can be sampled");
}

}  // namespace
}  // namespace fg
