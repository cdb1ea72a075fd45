#include "gates/engine_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flipgate {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

std::unique_ptr<EngineClient> StartStub(const std::string& mode) {
  auto client =
      EngineClient::Start({"head",
                           {"/usr/bin/env", "python3",
                            std::string(FG_SOURCE_DIR) + "/gates/testing/stub_engine.py", mode}},
                          fg::PassedEnvironment({"PATH"}));
  EXPECT_TRUE(client.ok()) << client.status().message();
  return std::move(client).value();
}

Asked AskGenerate(EngineClient& client, milliseconds limit = milliseconds(20000)) {
  return client.Ask({{"request", "generate"}, {"session", "a"}, {"tokens", {1, 2, 3}}},
                    fg::After(limit));
}

TEST(EngineClient, GetsItsAnswer) {
  auto client = StartStub("good");
  const Asked asked = AskGenerate(*client);
  ASSERT_EQ(asked.state, AskState::kAnswer) << asked.message;
  EXPECT_EQ(asked.answer["request"], "generate");
}

TEST(EngineClient, TellsRequestSignalAndLastWordsOfADeadEngine) {
  auto client = StartStub("crash");
  const Asked asked = AskGenerate(*client);
  EXPECT_EQ(asked.state, AskState::kCrash);
  EXPECT_EQ(asked.message,
            "engine 'head' died while it answered generate (request 1: session 'a', 3 tokens); it "
            "ended with signal "
            "SIGSEGV; it last said: kernel mmq: index 7 of 4");
  EXPECT_FALSE(client->alive());
  EXPECT_THAT(AskGenerate(*client).message, HasSubstr("(an earlier request)"));
}

TEST(EngineClient, TellsAnExitCode) {
  auto client = StartStub("exit");
  const Asked asked = AskGenerate(*client);
  EXPECT_EQ(asked.state, AskState::kCrash);
  EXPECT_THAT(asked.message,
              HasSubstr("it ended with exit code 3; it said nothing on standard error"));
}

TEST(EngineClient, ALineThatIsNoJsonBreaksTheProtocol) {
  auto client = StartStub("garbage");
  const Asked asked = AskGenerate(*client);
  EXPECT_EQ(asked.state, AskState::kProtocol);
  EXPECT_THAT(asked.message,
              HasSubstr("wrote a line that is no JSON object: 'segmentation fault (almost)'"));
}

TEST(EngineClient, AnAnswerToAnotherRequestBreaksTheProtocol) {
  auto client = StartStub("wrong_id");
  EXPECT_EQ(AskGenerate(*client).state, AskState::kProtocol);
}

TEST(EngineClient, HalfALineIsACrash) {
  auto client = StartStub("partial");
  const Asked asked = AskGenerate(*client);
  EXPECT_EQ(asked.state, AskState::kCrash);
  EXPECT_THAT(asked.message, HasSubstr("died in the middle of a line"));
}

TEST(EngineClient, SilenceEndsAtTheDeadline) {
  auto client = StartStub("hang");
  const Asked asked = AskGenerate(*client, milliseconds(300));
  EXPECT_EQ(asked.state, AskState::kTimeout);
  EXPECT_THAT(asked.message, HasSubstr("gave no answer in time"));
}

TEST(EngineClient, ARefusalLeavesTheProcessAlive) {
  auto client = StartStub("refuse");
  const Asked asked = AskGenerate(*client);
  EXPECT_EQ(asked.state, AskState::kRefusal);
  EXPECT_EQ(asked.error_kind, "out_of_memory");
  EXPECT_EQ(asked.message,
            "engine 'head' answered generate (request 1: session 'a', 3 tokens) with "
            "out_of_memory: no room");
  EXPECT_TRUE(client->alive());
}

TEST(EngineClient, AMissingProgramIsNamed) {
  const auto client = EngineClient::Start({"snapshot", {"/proc/none/engine"}}, {});
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.status().message(),
            "engine 'snapshot': /proc/none/engine: cannot start: No such file or directory");
}

}  // namespace
}  // namespace flipgate
