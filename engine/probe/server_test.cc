#include "engine/probe/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"
#include "engine/probe/fake_engine.h"

namespace fg {
namespace {

class Server : public ::testing::Test {
 protected:
  Server()
      : gates_(Gates::FromEnvironment({}, "cpu", &ledger_).value()),
        server_(device_, gates_, &ledger_,
                [this](const std::string& path, const EngineOptions& options) {
                  return LoadFake(path, options);
                }) {}

  Result<std::unique_ptr<Engine>> LoadFake(const std::string& path, const EngineOptions& options) {
    if (!load_error_.ok()) return load_error_;
    EXPECT_EQ(path, "fake.gguf");
    auto engine = std::make_unique<FakeEngine>(options);
    engine_ = engine.get();
    return std::unique_ptr<Engine>(std::move(engine));
  }
  Json Ask(const std::string& line) { return Json::parse(server_.Answer(line)); }
  void Load() {
    ASSERT_EQ(Ask(R"({"id": 1, "request": "load", "model": "fake.gguf", "batch": 8})")["ok"], true);
  }
  // "kind | site | message" of an error; also that the id came back.
  std::string Error(const std::string& line, const Json& id = 1) {
    const Json answer = Ask(line);
    EXPECT_EQ(answer["id"], id);
    EXPECT_EQ(answer["ok"], false) << answer;
    if (answer["ok"] != false) return "";
    EXPECT_EQ(answer.size(), 3u);
    const Json& error = answer["error"];
    EXPECT_EQ(error["kernel"], "");
    return error["kind"].get<std::string>() + " | " + error["site"].get<std::string>() + " | " +
           error["message"].get<std::string>();
  }

  Device device_;
  Ledger ledger_;
  Gates gates_;
  Status load_error_;
  FakeEngine* engine_ = nullptr;
  ProbeServer server_;
};

TEST_F(Server, LinesThatAreNoRequestAreAnsweredWithNull) {
  EXPECT_EQ(Error("", nullptr).substr(0, 22), "bad_request | request ");
  EXPECT_EQ(Error("{", nullptr).substr(0, 13), "bad_request |");
  EXPECT_EQ(Error("[1]", nullptr),
            "bad_request | request | request: must be an object, is an array");
  EXPECT_EQ(Error("{} {}", nullptr).substr(0, 13), "bad_request |");
  EXPECT_EQ(Error("{\"id\": 1, \"request\": \"\xff\"}", nullptr).substr(0, 13), "bad_request |");
  EXPECT_EQ(Error(R"({"id": 1, "id": 2})", nullptr),
            "bad_request | request | request: the member 'id' stands twice in one object");
  EXPECT_EQ(Error(std::string(200, '['), nullptr),
            "bad_request | request | request: nested deeper than 100");
}

TEST_F(Server, AMessageQuotesALongLineInPart) {
  const std::string said = Error("{\"id\": 1, \"" + std::string(1 << 20, 'x'), nullptr);
  EXPECT_LT(said.size(), 2100u);
  EXPECT_TRUE(said.ends_with("x...")) << said.substr(0, 200);
  const std::string named =
      Error(R"({"id": 1, "request": ")" + std::string(30 << 20, 'y') + "\"}", 1);
  EXPECT_LT(named.size(), 2100u);
}

TEST_F(Server, TheIdComesBackAsItWas) {
  for (const char* id : {"7", "-3", "18446744073709551615", "\"seven\"", "\"\""}) {
    const Json answer = Ask(std::string(R"({"request": "hello", "id": )") + id + "}");
    EXPECT_EQ(answer["id"], Json::parse(id));
    EXPECT_EQ(answer["ok"], true);
  }
  EXPECT_EQ(Error(R"({"request": "hello"})", nullptr),
            "bad_request | request.id | request.id: is missing");
  EXPECT_EQ(
      Error(R"({"request": "hello", "id": 1.5})", nullptr),
      "bad_request | request.id | request.id: must be a whole number or a string, is a number");
  EXPECT_EQ(Error(R"({"request": "hello", "id": null})", nullptr),
            "bad_request | request.id | request.id: must be a whole number or a string, is null");
}

TEST_F(Server, UnknownRequestsAndFieldsNameThemselvesAndTheProcessLivesOn) {
  EXPECT_EQ(Error(R"({"id": 1})"), "bad_request | request.request | request.request: is missing");
  EXPECT_EQ(Error(R"({"id": 1, "request": "generat"})"),
            "bad_request | request | request: unknown request 'generat'; did you mean 'generate'?");
  EXPECT_EQ(Error(R"({"id": 1, "request": "ledger", "since": 3})"),
            "bad_request | ledger | ledger: unknown member 'since'");
  EXPECT_EQ(Error(R"({"id": 1, "request": "load", "model": "m", "contxt": 5})"),
            "bad_request | load | load: unknown member 'contxt'; did you mean 'context'?");
  EXPECT_EQ(
      Error(R"({"id": 1, "request": "generate", "tokens": [1, 2, 3, true]})"),
      "bad_request | generate.tokens[3] | generate.tokens[3]: must be a token's id, is true or "
      "false");
  EXPECT_EQ(Ask(R"({"id": 2, "request": "hello"})")["ok"], true);
}

TEST_F(Server, WithoutAModelRequestsForOneAreRefused) {
  for (const char* request : {R"("generate", "prompt": "a")", R"("bench", "prefill": 1)",
                              R"("score", "tokens": [1], "out": "o")"}) {
    const std::string line = std::string(R"({"id": 1, "request": )") + request + "}";
    const std::string word = Json::parse(line)["request"];
    EXPECT_EQ(Error(line),
              "bad_request | " + word + " | " + word + ": no model is loaded; send 'load' first");
  }
  const Json memory = Ask(R"({"id": 1, "request": "memory"})");
  EXPECT_EQ(memory["categories"]["weights"]["peak"], 0);
  EXPECT_GT(memory["system"]["peak_resident"], 0);
}

TEST_F(Server, LoadAnswersTheModelAndWorksOnce) {
  ledger_.AddDegradation({"a", "b", "c"});
  const Json answer =
      Ask(R"({"id": "l", "request": "load", "model": "fake.gguf", "context": 50, "batch": 8})");
  EXPECT_EQ(answer["id"], "l");
  EXPECT_EQ(answer["model"]["sha256"], std::string(64, 'a'));
  EXPECT_EQ(answer["model"]["tensors"], Json::parse(R"({"f32": 3})"));
  EXPECT_EQ(answer["nibble_family_only"], false);
  EXPECT_EQ(answer["planes"], Json::array());
  EXPECT_EQ(answer["fuse_mode"], Json::parse(R"({"asked": "0", "mode": "0"})"));
  EXPECT_EQ(answer["degradations"], Json::parse(R"([{"from": "a", "to": "b", "reason": "c"}])"));
  EXPECT_EQ(answer["batch"], 8);
  EXPECT_EQ(answer["milliseconds"], 1.5);
  EXPECT_TRUE(answer["memory"].contains("system"));
  EXPECT_EQ(engine_->context(), 50);
  EXPECT_EQ(Error(R"({"id": 1, "request": "load", "model": "fake.gguf"})"),
            "bad_request | load | load: a model is loaded already; one process serves one model");
}

TEST_F(Server, AFailedLoadSaysWhyAndMayBeTriedAgain) {
  const std::string load = R"({"id": 1, "request": "load", "model": "fake.gguf"})";
  load_error_ = Status(ErrorKind::kBadModel, "fake.gguf: too short");
  EXPECT_EQ(Error(load), "bad_model | load | fake.gguf: too short");
  load_error_ = Status(ErrorKind::kIo, "fake.gguf: No such file or directory");
  EXPECT_EQ(Error(load), "io | load | fake.gguf: No such file or directory");
  load_error_ = Status(ErrorKind::kOutOfMemory, "no room for 3 MiB");
  EXPECT_EQ(Error(load), "out_of_memory | load | no room for 3 MiB");
  load_error_ = Status(ErrorKind::kUsage, "context 9 is too much");
  EXPECT_EQ(Error(load), "bad_request | load | load: context 9 is too much");
  load_error_ = Status();
  Load();
}

TEST_F(Server, GenerateAnswersTokensTextDigestsAndTop) {
  Load();
  const Json answer = Ask(R"({"id": 1, "request": "generate", "tokens": [97], "max_tokens": 3,
      "top": 2})");
  EXPECT_EQ(answer["prompt_tokens"], Json::array({97}));
  EXPECT_EQ(answer["tokens"], Json::array({98, 99, 100}));
  EXPECT_EQ(answer["text"], "bcd");
  EXPECT_EQ(answer["finish"], "length");
  EXPECT_EQ(answer["position"], 3);
  std::vector<float> logits(261, 0.0f);
  logits[98] = 1;
  EXPECT_EQ(answer["digests"].size(), 3u);
  EXPECT_EQ(answer["digests"][0], Sha256Hex(std::as_bytes(std::span(logits))));
  EXPECT_EQ(answer["top"][0], Json::parse("[[98, 1.0], [0, 0.0]]"));
  EXPECT_EQ(answer["top"].size(), 3u);
}

TEST_F(Server, SessionsGoOnByName) {
  Load();
  const auto generate = [&](const std::string& session, const std::string& prompt) {
    return Ask(R"({"id": 1, "request": "generate", "max_tokens": 1, "session": ")" + session +
               R"(", "prompt": ")" + prompt + R"("})");
  };
  EXPECT_EQ(generate("one", "xy")["position"], 2);
  EXPECT_EQ(generate("two", "k")["position"], 1);
  const Json on = generate("one", "b");
  EXPECT_EQ(on["position"], 4);  // the token generated before was fed first
  EXPECT_EQ(on["prompt_tokens"], Json::array({98}));
  EXPECT_EQ(on["text"], "c");
  const std::vector<FakeForward> expected = {{0, 2, 1}, {0, 1, 1}, {2, 2, 1}};
  EXPECT_EQ(engine_->log().forwards, expected);
  EXPECT_EQ(engine_->log().sessions, 2);
}

TEST_F(Server, TheModelJudgesIdsAndRows) {
  Load();
  EXPECT_EQ(Error(R"({"id": 1, "request": "generate", "tokens": [0, 260, 261]})"),
            "bad_request | generate.tokens[2] | generate.tokens[2]: id 261 is outside the "
            "vocabulary of 261");
  EXPECT_EQ(Error(R"({"id": 1, "request": "score", "tokens": [0], "rows_per_forward": 9,
                      "out": "o"})"),
            "bad_request | score.rows_per_forward | score.rows_per_forward: must be at most the "
            "batch of 8, is 9");
}

TEST_F(Server, ARefusedPromptLeavesNoSessionBehind) {
  Load();
  const std::string prompt(200, 'z');
  const std::string line =
      R"({"id": 1, "request": "generate", "session": "s", "prompt": ")" + prompt + "\"}";
  EXPECT_EQ(Error(line), "bad_request | generate | the context is full");
  EXPECT_EQ(Error(line), "bad_request | generate | the context is full");
  EXPECT_EQ(engine_->log().sessions, 2);
}

TEST_F(Server, ScoreWritesTheLogitsOfTheWantedRows) {
  Load();
  const std::string path = fg::ProcessTempDir() + "fg_server_score.bin";
  std::filesystem::remove(path);
  const Json answer = Ask(R"({"id": 1, "request": "score", "tokens": [5, 6, 7], "first": 1,
      "out": ")" + path + "\"}");
  EXPECT_EQ(answer["rows"], 2);
  EXPECT_EQ(answer["vocabulary"], 261);
  EXPECT_EQ(answer["file"], path);
  std::vector<float> logits(2 * 261, 0.0f);
  logits[7] = logits[261 + 8] = 1;
  const auto bytes = ReadFile(path);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, std::string(reinterpret_cast<const char*>(logits.data()),
                                logits.size() * sizeof(float)));
  EXPECT_EQ(answer["digest"], Sha256Hex(*bytes));
  EXPECT_EQ(Error(R"({"id": 1, "request": "score", "tokens": [5], "out": "/proc/none/x/y"})"),
            "io | score | /proc/none/x/y: cannot write: No such file or directory");
}

TEST_F(Server, BenchAnswersOneFigureARepetition) {
  Load();
  const Json answer = Ask(R"({"id": 1, "request": "bench", "prefill": 6, "repetitions": 2})");
  EXPECT_EQ(answer["prefill"]["tokens"], 6);
  EXPECT_EQ(answer["prefill"]["seconds"].size(), 2u);
  EXPECT_EQ(answer["prefill"]["tokens_per_second"].size(), 2u);
  EXPECT_EQ(answer["decode"], Json::parse(R"({"tokens": 0, "context": 0, "seconds": [],
      "tokens_per_second": []})"));
  const Json decode =
      Ask(R"({"id": 1, "request": "bench", "decode": 2, "context": 4, "repetitions": 3})");
  EXPECT_EQ(decode["decode"]["context"], 4);
  EXPECT_EQ(decode["decode"]["seconds"].size(), 3u);
  EXPECT_EQ(Error(R"({"id": 1, "request": "bench", "prefill": 97})"),
            "bad_request | bench | 97 tokens after 0 do not fit the context of 96 positions");
}

TEST_F(Server, LedgerCountsAnewAfterEachAnswer) {
  ledger_.CountForward(Phase::kDecode);
  EXPECT_EQ(Ask(R"({"id": 1, "request": "ledger"})")["forwards"]["decode"], 1);
  EXPECT_EQ(Ask(R"({"id": 1, "request": "ledger"})")["forwards"]["decode"], 0);
}

TEST_F(Server, MemoryIsTheEnginesBook) {
  Load();
  engine_->book().Add(MemoryCategory::kKv, 5);
  EXPECT_EQ(Ask(R"({"id": 1, "request": "memory"})")["categories"]["kv"]["now"], 5);
}

TEST_F(Server, ResetDropsSessionsGraphsAndCounts) {
  Load();
  const std::string generate =
      R"({"id": 1, "request": "generate", "prompt": "ab", "max_tokens": 1})";
  Ask(generate);
  ledger_.CountForward(Phase::kDecode);
  EXPECT_EQ(Ask(R"({"id": 4, "request": "reset"})"), Json::parse(R"({"id": 4, "ok": true})"));
  EXPECT_EQ(engine_->log().graph_drops, 1);
  EXPECT_EQ(Ask(R"({"id": 1, "request": "ledger"})")["forwards"]["decode"], 0);
  EXPECT_EQ(Ask(generate)["position"], 2);
}

TEST_F(Server, AfterADeviceErrorEverythingButFourRequestsAnswersIt) {
  Load();
  engine_->log().next_forward = Status(ErrorKind::kDevice, "the device fell off");
  const std::string generate = R"({"id": 1, "request": "generate", "prompt": "a"})";
  EXPECT_EQ(Error(generate), "device | generate | the device fell off");
  EXPECT_EQ(Error(generate), "device | generate | the device fell off");
  EXPECT_TRUE(engine_->log().forwards.empty());
  for (const char* word : {"load", "score", "bench", "op", "reset"}) {
    const std::string line = std::string(R"({"id": 1, "request": ")") + word + "\"}";
    EXPECT_EQ(Error(line), std::string("device | ") + word + " | the device fell off");
  }
  for (const char* word : {"hello", "ledger", "memory", "quit"}) {
    const std::string line = std::string(R"({"id": 1, "request": ")") + word + "\"}";
    EXPECT_EQ(Ask(line)["ok"], true) << word;
  }
}

TEST_F(Server, OpForwardNeedsAModelAndNamesItselfInWhatItIsRefused) {
  const std::string path = fg::ProcessTempDir() + "/fg_server_tokens.bin";
  ASSERT_TRUE(WriteFileAtomic(path, std::string(16 * 4, '\0')).ok());
  const std::string forward =
      R"({"id": 1, "request": "op", "op": "forward", "params": {"wanted": 1}, "out": ")" +
      fg::ProcessTempDir() + R"(/fg_server_out", "inputs": {"tokens": {"file": ")" + path +
      R"(", "dtype": "i32", "shape": [16]}}})";
  EXPECT_EQ(Error(forward),
            "bad_request | op.forward | op.forward: no model is loaded; send 'load' first");
  Load();
  engine_->log().next_forward = Status(ErrorKind::kRefused, "node 2: a promise was broken");
  EXPECT_EQ(Error(forward), "refused | op.forward | node 2: a promise was broken");
  engine_->log().next_forward = Status(ErrorKind::kBadRequest, "it cannot arise");
  EXPECT_EQ(Error(forward), "bad_request | op.forward | it cannot arise");
  const Json answer = Ask(forward);
  EXPECT_EQ(answer["outputs"]["logits"]["shape"], Json::array({1, 261}));
}

TEST_F(Server, ARefusalAndAnExhaustedMemoryAreAnswersToo) {
  Load();
  const std::string generate = R"({"id": 1, "request": "generate", "prompt": "a"})";
  engine_->log().next_forward = Status(ErrorKind::kRefused, "a promise was broken");
  EXPECT_EQ(Error(generate), "refused | generate | a promise was broken");
  engine_->log().throws_bad_alloc = true;
  EXPECT_EQ(Error(generate), "out_of_memory | generate | generate: memory ran out");
  engine_->log().throws_bad_alloc = false;
  EXPECT_EQ(Ask(generate)["ok"], true);
}

// Serves `input` over pipes and gives the answers.
std::vector<Json> Served(ProbeServer& server, const std::string& input, Status* status) {
  int in[2], out[2];
  EXPECT_EQ(pipe(in), 0);
  EXPECT_EQ(pipe(out), 0);
  std::thread writer([&] {
    EXPECT_EQ(write(in[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
    close(in[1]);
  });
  *status = server.Serve(in[0], out[1]);
  writer.join();
  close(in[0]);
  close(out[1]);
  std::string text(1 << 16, '\0');
  const ssize_t got = read(out[0], text.data(), text.size());
  close(out[0]);
  std::vector<Json> answers;
  size_t start = 0;
  while (got > 0 && start < static_cast<size_t>(got)) {
    const size_t end = text.find('\n', start);
    answers.push_back(Json::parse(text.substr(start, end - start)));
    start = end + 1;
  }
  return answers;
}

TEST_F(Server, AnswersInTheOrderOfTheRequestsUntilQuit) {
  Status status;
  const auto answers = Served(server_,
                              "{\"id\": 1, \"request\": \"ledger\"}\nnonsense\n"
                              "{\"id\": 3, \"request\": \"quit\"}\n{\"id\": 4, \"request\": "
                              "\"hello\"}\n",
                              &status);
  EXPECT_TRUE(status.ok());
  EXPECT_TRUE(server_.quit());
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]["id"], 1);
  EXPECT_EQ(answers[1]["id"], nullptr);
  EXPECT_EQ(answers[2], Json::parse(R"({"id": 3, "ok": true})"));
}

TEST_F(Server, TheEndOfTheInputEndsIt) {
  Status status;
  const auto answers = Served(server_, R"({"id": 1, "request": "memory"})", &status);
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(server_.quit());
  EXPECT_EQ(answers.size(), 1u);
}

TEST_F(Server, AReaderThatLeftEndsItWithAnError) {
  int in[2], out[2];
  ASSERT_EQ(pipe(in), 0);
  ASSERT_EQ(pipe(out), 0);
  const std::string line = "{\"id\": 1, \"request\": \"memory\"}\n";
  ASSERT_EQ(write(in[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  close(out[0]);
  EXPECT_EQ(server_.Serve(in[0], out[1]).message(), "standard output: Broken pipe");
  close(in[0]);
  close(in[1]);
  close(out[1]);
}

TEST_F(Server, ALineBeyondTheLimitIsABadRequest) {
  const Json answer = Json::parse(server_.AnswerTooLong());
  EXPECT_EQ(answer["id"], nullptr);
  EXPECT_EQ(answer["error"]["message"], "request: the line is longer than 64 MiB");
  EXPECT_EQ(answer["error"]["kind"], "bad_request");
}

TEST(EncodePrompt, PutsTheBeginningTokenWhereTheModelAsksForIt) {
  testing::TinyModelSpec spec;
  spec.keys = [](GgufWriter* writer) {
    writer->SetKey("tokenizer.ggml.bos_token_id", GgufU32(256));
    writer->SetKey("tokenizer.ggml.add_bos_token", GgufBool(true));
  };
  const std::string bytes = testing::TinyModelBytes(spec);
  const auto file =
      GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  ASSERT_TRUE(file.ok());
  const auto tokenizer = Tokenizer::FromGguf(*file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(EncodePrompt(*tokenizer, "b<|end|>", true), (std::vector<int32_t>{256, 98, 256}));
  EXPECT_EQ(EncodePrompt(*tokenizer, "b", false), (std::vector<int32_t>{98}));
}

}  // namespace
}  // namespace fg
