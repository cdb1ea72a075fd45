#include "gates/stream_margin.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flipgate {
namespace {

// A stream of tokens, each sure by `margin` with a highest logit of 10.
Stream StreamOf(std::vector<int64_t> tokens, const std::vector<double>& margins,
                const std::string& digest) {
  Stream stream;
  stream.prompt = "p";
  stream.prompt_tokens = {1, 2};
  for (const double margin : margins) {
    stream.top.push_back({10, 10 - margin});
    stream.digests.push_back(digest);
  }
  stream.tokens = std::move(tokens);
  return stream;
}

MarginComparison Compared(const Stream& a, const Stream& b) {
  return CompareByMargin({a}, "one", {b}, "other", 0.1);  // a margin above 1 binds
}

TEST(StreamMargin, SureTokensAgree) {
  const Stream b = StreamOf({5, 6, 7}, {2, 0.5, 2}, "x");
  const MarginComparison same = Compared(StreamOf({5, 6, 7}, {2, 2, 2}, "x"), b);
  EXPECT_EQ(same.fault, std::nullopt);
  EXPECT_TRUE(same.bitwise);
  EXPECT_EQ(same.bound, 2);
  EXPECT_EQ(same.free, 1);
  EXPECT_FALSE(same.figures.contains("first_different"));
}

TEST(StreamMargin, AnUnsureTokenMayDifferAndEndsTheComparison) {
  const Stream b = StreamOf({5, 6, 7}, {2, 0.5, 2}, "x");
  const MarginComparison other = Compared(StreamOf({5, 9, 1}, {2, 2, 2}, "y"), b);
  EXPECT_EQ(other.fault, std::nullopt);
  EXPECT_FALSE(other.bitwise);
  EXPECT_EQ(other.bound, 1);
  EXPECT_EQ(other.figures["first_different"]["step"], 0);
  EXPECT_EQ(other.figures["first_different"]["tokens"], (fg::Json{5, 5}));
}

TEST(StreamMargin, ASureTokenThatDiffersIsAFault) {
  const Stream b = StreamOf({5, 6}, {2, 3}, "x");
  EXPECT_EQ(Compared(StreamOf({5, 9}, {2, 2}, "y"), b).fault,
            "prompt 'p', step 1: one chose token 9, other token 6 by a margin of 3, above 1");
  const Stream nan = StreamOf({5, 6}, {2, std::nan("")}, "x");
  EXPECT_NE(Compared(StreamOf({5, 9}, {2, 2}, "y"), nan).fault, std::nullopt);
}

TEST(StreamMargin, OtherQuestionsAreAFault) {
  const Stream b = StreamOf({5, 6}, {2, 3}, "x");
  EXPECT_EQ(Compared(StreamOf({5}, {2}, "x"), b).fault,
            "prompt 'p': one and other were not asked the same, or gave other numbers of tokens "
            "(1, 2)");
  EXPECT_EQ(CompareByMargin({}, "one", {}, "other", 0.1).fault, "one gave 0 streams, other gave 0");
}

}  // namespace
}  // namespace flipgate
