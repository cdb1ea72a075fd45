#include "engine/backend/cuda/cuda_step_key.h"

#include <gtest/gtest.h>

#include <memory>

namespace fg {
namespace {

const int kA = 0, kB = 0, kC = 0;

StepKey KeyOf(const std::string& graph) {
  StepKey key;
  key.graph = graph;
  key.argmax = true;
  key.bucket = 256;
  key.addresses = {&kA, &kB};
  return key;
}

TEST(StepKey, EachFieldMakesAnotherKey) {
  const StepKey key = KeyOf("g");
  EXPECT_EQ(key, KeyOf("g"));
  std::vector<StepKey> others(6, key);
  others[0].graph = "h";
  others[1].argmax = false;
  others[2].kv_row_off = true;
  others[3].bucket = 320;
  others[4].addresses[1] = &kC;
  others[5].addresses.push_back(nullptr);
  for (const StepKey& other : others) EXPECT_NE(key, other);
}

TEST(StepKey, HoldsItsAddresses) {
  EXPECT_TRUE(KeyOf("g").Holds(&kB));
  EXPECT_FALSE(KeyOf("g").Holds(&kC));
}

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  Counted(const Counted&) = delete;
  int runs = 0;
  static int alive;
};
int Counted::alive = 0;

TEST(RecentSteps, KeepsWhatBelongsToAKey) {
  RecentSteps<Counted> steps(4);
  steps.Use(KeyOf("a")).runs = 7;
  steps.Use(KeyOf("b")).runs = 8;
  EXPECT_EQ(steps.Use(KeyOf("a")).runs, 7);
  EXPECT_EQ(steps.Use(KeyOf("b")).runs, 8);
  EXPECT_EQ(steps.size(), 2u);
}

TEST(RecentSteps, ForgetsTheOneThatWasNotUsedForTheLongestTime) {
  RecentSteps<Counted> steps(2);
  steps.Use(KeyOf("a")).runs = 1;
  steps.Use(KeyOf("b")).runs = 2;
  steps.Use(KeyOf("a"));
  steps.Use(KeyOf("c")).runs = 3;
  EXPECT_EQ(steps.size(), 2u);
  EXPECT_EQ(Counted::alive, 2);
  EXPECT_EQ(steps.Use(KeyOf("a")).runs, 1);
  EXPECT_EQ(steps.Use(KeyOf("b")).runs, 0);  // made anew, in the place of c
}

TEST(RecentSteps, DropsWhatHoldsAnAddress) {
  {
    RecentSteps<Counted> steps(8);
    StepKey other = KeyOf("b");
    other.addresses = {&kC};
    steps.Use(KeyOf("a")).runs = 1;
    steps.Use(other).runs = 2;
    steps.Drop(&kA);
    EXPECT_EQ(steps.size(), 1u);
    EXPECT_EQ(Counted::alive, 1);
    EXPECT_EQ(steps.Use(other).runs, 2);
    steps.Clear();
    EXPECT_EQ(Counted::alive, 0);
    steps.Use(other);
  }
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace fg
