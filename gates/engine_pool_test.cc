#include "gates/engine_pool.h"

#include <gtest/gtest.h>

#include <thread>

namespace flipgate {
namespace {

using std::chrono::milliseconds;

EnginePool MakePool(size_t capacity) {
  return EnginePool({{"head",
                      {"/usr/bin/env", "python3",
                       std::string(FG_SOURCE_DIR) + "/gates/testing/stub_engine.py", "good"}},
                     {"snapshot",
                      {"/usr/bin/env", "python3",
                       std::string(FG_SOURCE_DIR) + "/gates/testing/stub_engine.py", "crash"}}},
                    fg::PassedEnvironment({"PATH"}), capacity);
}

EngineKey Key(const std::string& value) { return {"head", {{"FG_MMQ", value}}, ""}; }

int Pid(EngineLease& lease) {
  const Asked asked = lease.Ask({{"request", "memory"}}, fg::After(milliseconds(20000)));
  EXPECT_EQ(asked.state, AskState::kAnswer) << asked.message;
  return asked.answer.value("pid", 0);
}

int PidOf(EnginePool& pool, const EngineKey& key) {
  Asked failure;
  auto lease = pool.Acquire(key, fg::After(milliseconds(20000)), &failure);
  EXPECT_TRUE(lease.ok()) << lease.status().message();
  return Pid(*lease);
}

TEST(EnginePool, KeepsAProcessPerKey) {
  EnginePool pool = MakePool(4);
  const int first = PidOf(pool, Key("1"));
  EXPECT_EQ(PidOf(pool, Key("1")), first);
  EXPECT_NE(PidOf(pool, Key("0")), first);
  EXPECT_EQ(pool.started(), 2u);
}

TEST(EnginePool, GivesExactlyTheVariablesOfTheKey) {
  EnginePool pool = MakePool(2);
  Asked failure;
  auto lease = pool.Acquire(Key("1"), fg::After(milliseconds(20000)), &failure);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease->engine().hello["variables"], (fg::Json{{"FG_MMQ", "1"}}));
}

TEST(EnginePool, TheLeastRecentlyUsedLeavesFirst) {
  EnginePool pool = MakePool(2);
  const int a = PidOf(pool, Key("a"));
  const int b = PidOf(pool, Key("b"));
  EXPECT_EQ(PidOf(pool, Key("a")), a);
  PidOf(pool, Key("c"));  // b leaves
  EXPECT_EQ(PidOf(pool, Key("a")), a);
  EXPECT_NE(PidOf(pool, Key("b")), b);
}

TEST(EnginePool, AFreshProcessIsNeverShared) {
  EnginePool pool = MakePool(4);
  const int kept = PidOf(pool, Key("1"));
  Asked failure;
  int fresh;
  {
    auto lease = pool.Fresh(Key("1"), fg::After(milliseconds(20000)), &failure);
    ASSERT_TRUE(lease.ok());
    fresh = Pid(*lease);
    EXPECT_NE(fresh, kept);
  }
  EXPECT_EQ(PidOf(pool, Key("1")), kept);
}

TEST(EnginePool, ADeadProcessIsReplaced) {
  EnginePool pool = MakePool(2);
  Asked failure;
  {
    auto lease = pool.Acquire({"snapshot", {}, ""}, fg::After(milliseconds(20000)), &failure);
    ASSERT_TRUE(lease.ok());
    EXPECT_EQ(lease->Ask({{"request", "generate"}}, fg::After(milliseconds(20000))).state,
              AskState::kCrash);
  }
  auto again = pool.Acquire({"snapshot", {}, ""}, fg::After(milliseconds(20000)), &failure);
  EXPECT_TRUE(again.ok());
  EXPECT_EQ(pool.started(), 2u);
}

TEST(EnginePool, ABusyProcessIsWaitedForUntilTheDeadline) {
  EnginePool pool = MakePool(1);
  Asked failure;
  auto held = pool.Acquire(Key("1"), fg::After(milliseconds(20000)), &failure);
  ASSERT_TRUE(held.ok());
  auto other = pool.Acquire(Key("1"), fg::After(milliseconds(100)), &failure);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.status().message(), "no engine process came free in time");
}

}  // namespace
}  // namespace flipgate
