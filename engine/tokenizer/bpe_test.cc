#include "engine/tokenizer/bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace fg {
namespace {

using testing::ElementsAre;

std::vector<int32_t> Apply(const Bpe& bpe, const std::vector<int32_t>& ids) {
  std::vector<int32_t> out;
  bpe.Apply(ids, &out);
  return out;
}

TEST(Bpe, LowestRankFirstThenLeftmost) {
  // 0 0 -> 3 (rank 1), 0 1 -> 4 (rank 0).
  const Bpe bpe({{0, 0, 1, 3}, {0, 1, 0, 4}}, 5);
  EXPECT_THAT(Apply(bpe, {0, 0, 0}), ElementsAre(3, 0));
  EXPECT_THAT(Apply(bpe, {0, 0, 1}), ElementsAre(0, 4));
  EXPECT_THAT(Apply(bpe, {0, 0, 0, 1}), ElementsAre(3, 4));
  EXPECT_THAT(Apply(bpe, {2, 2}), ElementsAre(2, 2));
  EXPECT_THAT(Apply(bpe, {}), ElementsAre());
  EXPECT_THAT(Apply(bpe, {1}), ElementsAre(1));
}

TEST(Bpe, AppendsBehindWhatIsThere) {
  const Bpe bpe({{0, 1, 0, 2}}, 3);
  std::vector<int32_t> out = {9};
  bpe.Apply(std::vector<int32_t>{0, 1, 1}, &out);
  EXPECT_THAT(out, ElementsAre(9, 2, 1));
}

TEST(Bpe, NoMergesLeaveTheIds) { EXPECT_THAT(Apply(Bpe({}, 2), {1, 0, 1}), ElementsAre(1, 0, 1)); }

// The definition, word for word: scan for the best pair, merge it, start again.
std::vector<int32_t> ApplySlowly(const std::vector<BpeMerge>& merges, std::vector<int32_t> ids) {
  while (true) {
    const BpeMerge* best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      for (const BpeMerge& merge : merges) {
        if (merge.left != ids[i] || merge.right != ids[i + 1]) continue;
        if (best == nullptr || merge.rank < best->rank) {
          best = &merge;
          at = i;
        }
      }
    }
    if (best == nullptr) return ids;
    ids[at] = best->merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, EqualsTheDefinitionOnRandomMerges) {
  std::mt19937 random(3);
  uint64_t merged = 0;
  for (int round = 0; round < 300; ++round) {
    // Each merge makes a new token out of two earlier ones, in a rank of its own, as training does
    // or, every other round, in any order of ranks.
    const int32_t letters = 2 + static_cast<int32_t>(random() % 3);
    int32_t vocabulary = letters;
    std::map<std::pair<int32_t, int32_t>, BpeMerge> pairs;
    for (int i = 0; i < 12; ++i) {
      const int32_t left = static_cast<int32_t>(random() % static_cast<unsigned>(vocabulary));
      const int32_t right = static_cast<int32_t>(random() % static_cast<unsigned>(vocabulary));
      const bool fresh =
          pairs.try_emplace({left, right}, BpeMerge{left, right, i, vocabulary}).second;
      if (fresh) ++vocabulary;
    }
    std::vector<int32_t> ranks(pairs.size());
    for (size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int32_t>(i);
    if (round % 2 == 0) std::shuffle(ranks.begin(), ranks.end(), random);
    std::vector<BpeMerge> merges;
    for (const auto& [pair, merge] : pairs) {
      merges.push_back(merge);
      merges.back().rank = ranks[merges.size() - 1];
    }
    const Bpe bpe(merges, vocabulary);
    std::vector<int32_t> ids(random() % 40);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % static_cast<unsigned>(letters));
    const std::vector<int32_t> out = Apply(bpe, ids);
    ASSERT_EQ(out, ApplySlowly(merges, ids)) << "round " << round;
    merged += ids.size() - out.size();
  }
  EXPECT_GT(merged, 1000u);
}

TEST(Bpe, WorkGrowsWithTheLength) {
  const Bpe bpe({{0, 0, 0, 1}, {1, 1, 1, 2}, {2, 2, 2, 3}, {3, 3, 3, 4}}, 5);
  for (const size_t size : {1000u, 10000u, 100000u}) {
    std::vector<int32_t> out;
    uint64_t steps = 0;
    bpe.Apply(std::vector<int32_t>(size, 0), &out, &steps);
    // n-1 pairs at the start, and two new pairs at most for each of at most n-1 merges.
    EXPECT_LE(steps, 3 * size) << size;
    EXPECT_GE(steps, size - 1) << size;
    EXPECT_EQ(out.size(), size / 16 + (size % 16 != 0)) << size;
  }
}

}  // namespace
}  // namespace fg
