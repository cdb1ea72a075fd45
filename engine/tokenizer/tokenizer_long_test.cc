// Runs of 50,000 equal characters on a stack of 256 KiB: where a recursive matcher would overflow.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>

#include "engine/tokenizer/tokenizer_testing.h"

namespace fg {
namespace {

constexpr size_t kStackBytes = 256 * 1024;
constexpr size_t kRun = 50000;

void OnASmallStack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)),
            0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
}

std::string Times(std::string_view unit, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += unit;
  return text;
}

struct LongRun {
  const char* unit;  // one character
  size_t in_token;   // how many of it one token holds at most
};

// '1' stands alone in its part, so the merges of several never apply.
const LongRun kRuns[] = {{"A", 8}, {"\n", 8},     {" ", 8},     {".", 8},
                         {"1", 1}, {"\u4E2D", 8}, {"\u0301", 8}};

// Each character's bytes join to one token, and that doubles to two, four and eight characters.
Tokenizer RunTokenizer() {
  VocabularyFile file;
  for (const LongRun& run : kRuns) {
    const std::string_view unit = run.unit;
    for (size_t i = 1; i < unit.size(); ++i) file.Merge(unit.substr(0, i), unit.substr(i, 1));
    for (const size_t count : {1, 2, 4}) file.Merge(Times(unit, count), Times(unit, count));
  }
  Result<Tokenizer> tokenizer = TokenizerOf(file.Writer());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::move(tokenizer).value();
}

std::string Joined(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += tokenizer.Piece(id);
  return text;
}

TEST(TokenizerLong, ALongRunIsTheRepetitionOfAShortOne) {
  const Tokenizer tokenizer = RunTokenizer();
  for (const LongRun& run : kRuns) {
    // 40 characters cut into whole tokens whatever the run's length, and 50,000 is 1250 times 40.
    const std::vector<int32_t> chunk = tokenizer.Encode(Times(run.unit, 40));
    ASSERT_EQ(chunk.size(), 40 / run.in_token) << run.unit;
    std::vector<int32_t> expected;
    for (size_t i = 0; i < kRun / 40; ++i)
      expected.insert(expected.end(), chunk.begin(), chunk.end());
    const std::string text = Times(run.unit, kRun);
    std::vector<int32_t> ids;
    ASSERT_NO_FATAL_FAILURE(OnASmallStack([&] { ids = tokenizer.Encode(text, true); }));
    EXPECT_TRUE(ids == expected) << run.unit << ": " << ids.size() << " ids";
    EXPECT_TRUE(Joined(tokenizer, ids) == text) << run.unit;
  }
}

TEST(TokenizerLong, ARunBetweenWordsKeepsItsEnds) {
  const Tokenizer tokenizer = RunTokenizer();
  for (const LongRun& run : kRuns) {
    std::string text = "x";
    text += Times(run.unit, kRun) + "x";
    std::string streamed;
    ASSERT_NO_FATAL_FAILURE(OnASmallStack([&] {
      StreamDecoder decoder(tokenizer);
      for (const int32_t id : tokenizer.Encode(text)) streamed += decoder.Push(id);
      streamed += decoder.Finish();
    }));
    EXPECT_TRUE(streamed == text) << run.unit;
  }
}

}  // namespace
}  // namespace fg
