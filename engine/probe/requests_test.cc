#include "engine/probe/requests.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

Json Parsed(const std::string& text) { return Json::parse(text); }

// The message of the reader for `text`, or "".
template <typename Reader>
std::string Error(Reader reader, const std::string& text) {
  const auto result = reader(Parsed(text));
  if (result.ok()) return "";
  EXPECT_EQ(result.status().kind(), ErrorKind::kUsage);
  return result.status().message();
}

TEST(Requests, LoadTakesDefaults) {
  const auto load = ReadLoad(Parsed(R"({"id": 1, "request": "load", "model": "m.gguf"})"));
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->model, "m.gguf");
  EXPECT_EQ(load->options.context, 0);
  EXPECT_EQ(load->options.batch, 512);
  const auto full = ReadLoad(Parsed(R"({"model": "m", "context": 64, "batch": 16})"));
  ASSERT_TRUE(full.ok());
  EXPECT_EQ(full->options.context, 64);
  EXPECT_EQ(full->options.batch, 16);
}

TEST(Requests, LoadRefusals) {
  EXPECT_EQ(Error(ReadLoad, R"({})"), "load.model: is missing");
  EXPECT_EQ(Error(ReadLoad, R"({"model": ""})"), "load.model: must not be empty");
  EXPECT_EQ(Error(ReadLoad, R"({"model": 1})"), "load.model: must be a string, is a whole number");
  EXPECT_EQ(Error(ReadLoad, R"({"model": "m", "context": 0})"),
            "load.context: must be at least 1, is 0");
  EXPECT_EQ(Error(ReadLoad, R"({"model": "m", "batch": -1})"),
            "load.batch: must be at least 1, is -1");
  EXPECT_EQ(Error(ReadLoad, R"({"model": "m", "batch": 1.5})"),
            "load.batch: must be a whole number of 64 bits, is a number");
  EXPECT_EQ(Error(ReadLoad, R"({"model": "m", "contxt": 5})"),
            "load: unknown member 'contxt'; did you mean 'context'?");
}

TEST(Requests, GenerateTakesDefaults) {
  const auto generate = ReadGenerate(Parsed(R"({"prompt": "hello"})"));
  ASSERT_TRUE(generate.ok());
  EXPECT_EQ(generate->session, "default");
  EXPECT_EQ(generate->prompt, "hello");
  EXPECT_TRUE(generate->tokens.empty());
  const GenerateOptions& options = generate->options;
  EXPECT_EQ(options.max_tokens, 32);
  EXPECT_EQ(options.sampling.temperature, 0);
  EXPECT_EQ(options.sampling.seed, 1u);
  EXPECT_EQ(options.sampling.top_k, 0);
  EXPECT_EQ(options.sampling.top_p, 1);
  EXPECT_EQ(options.forward.rows_per_forward, 0);
  EXPECT_TRUE(options.forward.reuse_graph);
  EXPECT_EQ(options.top, 0);
  EXPECT_TRUE(options.stop_at_eos);
  EXPECT_TRUE(options.digests);
}

TEST(Requests, GenerateTakesEveryField) {
  const auto generate = ReadGenerate(Parsed(
      R"({"session": "s", "tokens": [0, 2147483647], "max_tokens": 0, "rows_per_forward": 1,
          "reuse": false, "top": 64, "stop_at_eos": false, "digests": false, "sampling":
          {"temperature": 0.5, "seed": 18446744073709551615, "top_k": 3, "top_p": 0.25}})"));
  ASSERT_TRUE(generate.ok()) << generate.status().message();
  EXPECT_EQ(generate->session, "s");
  EXPECT_FALSE(generate->prompt.has_value());
  EXPECT_EQ(generate->tokens, (std::vector<int32_t>{0, 2147483647}));
  const GenerateOptions& options = generate->options;
  EXPECT_EQ(options.max_tokens, 0);
  EXPECT_EQ(options.sampling.temperature, 0.5);
  EXPECT_EQ(options.sampling.seed, 18446744073709551615u);
  EXPECT_EQ(options.sampling.top_k, 3);
  EXPECT_EQ(options.sampling.top_p, 0.25);
  EXPECT_EQ(options.forward.rows_per_forward, 1);
  EXPECT_FALSE(options.forward.reuse_graph);
  EXPECT_EQ(options.top, 64);
  EXPECT_FALSE(options.stop_at_eos);
  EXPECT_FALSE(options.digests);
}

TEST(Requests, GenerateRefusals) {
  const auto error = [](const std::string& fields) { return Error(ReadGenerate, fields); };
  const std::string one = "generate.prompt: exactly one of 'prompt' and 'tokens' must be given";
  EXPECT_EQ(error(R"({})"), one);
  EXPECT_EQ(error(R"({"prompt": "a", "tokens": [1]})"), one);
  EXPECT_EQ(error(R"({"prompt": ""})"), "generate.prompt: must not be empty");
  EXPECT_EQ(error(R"({"tokens": []})"), "generate.tokens: must not be empty");
  EXPECT_EQ(error(R"({"tokens": 5})"), "generate.tokens: must be an array, is a whole number");
  EXPECT_EQ(error(R"({"tokens": [1, 2, 3, "4"]})"),
            "generate.tokens[3]: must be a token's id, is a string");
  EXPECT_EQ(error(R"({"tokens": [-1]})"), "generate.tokens[0]: -1 is no token's id");
  EXPECT_EQ(error(R"({"tokens": [2147483648]})"),
            "generate.tokens[0]: 2147483648 is no token's id");
  EXPECT_EQ(error(R"({"tokens": [1.0]})"), "generate.tokens[0]: must be a token's id, is a number");
  EXPECT_EQ(error(R"({"prompt": "a", "max_tokens": -1})"),
            "generate.max_tokens: must be at least 0, is -1");
  EXPECT_EQ(error(R"({"prompt": "a", "rows_per_forward": 0})"),
            "generate.rows_per_forward: must be at least 1, is 0");
  EXPECT_EQ(error(R"({"prompt": "a", "top": 65})"), "generate.top: must be from 0 to 64, is 65");
  EXPECT_EQ(error(R"({"prompt": "a", "reuse": 1})"),
            "generate.reuse: must be true or false, is a whole number");
  EXPECT_EQ(error(R"({"prompt": "a", "max_token": 3})"),
            "generate: unknown member 'max_token'; did you mean 'max_tokens'?");
}

TEST(Requests, SamplingRefusals) {
  const auto error = [](const std::string& sampling) {
    return Error(ReadGenerate, R"({"prompt": "a", "sampling": )" + sampling + "}");
  };
  EXPECT_EQ(error("3"), "generate.sampling: must be an object, is a whole number");
  EXPECT_EQ(error(R"({"temperature": -0.1})"),
            "generate.sampling.temperature: must not be negative");
  EXPECT_EQ(error(R"({"temperature": "hot"})"),
            "generate.sampling.temperature: must be a finite number, is a string");
  EXPECT_EQ(error(R"({"seed": -1})"),
            "generate.sampling.seed: must be a whole number of 64 bits, not negative");
  EXPECT_EQ(error(R"({"seed": 1.5})"),
            "generate.sampling.seed: must be a whole number of 64 bits, not negative");
  EXPECT_EQ(error(R"({"top_k": -1})"),
            "generate.sampling.top_k: must be from 0 to 2147483647, is -1");
  EXPECT_EQ(error(R"({"top_p": 0})"), "generate.sampling.top_p: must be above 0 and at most 1");
  EXPECT_EQ(error(R"({"top_p": 1.01})"), "generate.sampling.top_p: must be above 0 and at most 1");
  EXPECT_EQ(error(R"({"topk": 1})"),
            "generate.sampling: unknown member 'topk'; did you mean 'top_k'?");
}

TEST(Requests, Score) {
  const auto score = ReadScore(Parsed(
      R"({"tokens": [1, 2, 3], "first": 2, "rows_per_forward": 2, "reuse": false, "out": "f"})"));
  ASSERT_TRUE(score.ok());
  EXPECT_EQ(score->tokens, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(score->first, 2);
  EXPECT_EQ(score->forward.rows_per_forward, 2);
  EXPECT_FALSE(score->forward.reuse_graph);
  EXPECT_EQ(score->out, "f");
  EXPECT_EQ(Error(ReadScore, R"({"out": "f"})"), "score.tokens: is missing");
  EXPECT_EQ(Error(ReadScore, R"({"tokens": [1]})"), "score.out: is missing");
  EXPECT_EQ(Error(ReadScore, R"({"tokens": [1], "out": ""})"), "score.out: must not be empty");
  EXPECT_EQ(Error(ReadScore, R"({"tokens": [1, 2], "first": 2, "out": "f"})"),
            "score.first: must be one of the 2 positions, is 2");
  EXPECT_EQ(Error(ReadScore, R"({"tokens": [1, 2], "first": -1, "out": "f"})"),
            "score.first: must be one of the 2 positions, is -1");
}

TEST(Requests, Bench) {
  const auto bench =
      ReadBench(Parsed(R"({"prefill": 1, "decode": 2, "context": 3, "repetitions": 4})"));
  ASSERT_TRUE(bench.ok());
  EXPECT_EQ(bench->prefill, 1);
  EXPECT_EQ(bench->decode, 2);
  EXPECT_EQ(bench->context, 3);
  EXPECT_EQ(bench->repetitions, 4);
  EXPECT_EQ(Error(ReadBench, R"({})"),
            "bench.prefill: one of 'prefill' and 'decode' must be above 0");
  EXPECT_EQ(Error(ReadBench, R"({"prefill": -1})"), "bench.prefill: must be at least 0, is -1");
  EXPECT_EQ(Error(ReadBench, R"({"prefill": 1, "repetitions": 0})"),
            "bench.repetitions: must be at least 1, is 0");
}

TEST(Requests, Op) {
  const auto op = ReadOp(Parsed(
      R"({"op": "rms_norm", "inputs": {"x": {"file": "x.bin", "dtype": "f32", "shape": [2, 3]}},
          "params": {"eps": 1e-6}, "out": "folder"})"));
  ASSERT_TRUE(op.ok()) << op.status().message();
  EXPECT_EQ(op->op, "rms_norm");
  EXPECT_EQ(op->inputs.at("x").file, "x.bin");
  EXPECT_EQ(op->inputs.at("x").dtype, "f32");
  EXPECT_EQ(op->inputs.at("x").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(op->params.at("eps"), 1e-6);
  EXPECT_EQ(op->out, "folder");
  EXPECT_EQ(Error(ReadOp, R"({"op": "exp", "out": "f"})"), "op.inputs: is missing");
  EXPECT_EQ(Error(ReadOp, R"({"op": "exp", "inputs": {}})"), "op.out: is missing");
  EXPECT_EQ(Error(ReadOp, R"({"op": "exp", "inputs": {"x": 1}, "out": "f"})"),
            "op.inputs.x: must be an object, is a whole number");
  EXPECT_EQ(Error(ReadOp, R"({"op": "exp", "inputs": {"x": {"file": "x", "dtype": "f32",
                              "shape": [1, 0]}}, "out": "f"})"),
            "op.inputs.x.shape[1]: must be a whole number from 1 to 2147483647");
  EXPECT_EQ(Error(ReadOp, R"({"op": "exp", "inputs": {"x": {"file": "x", "dtyp": "f32",
                              "dtype": "f32", "shape": [1]}}, "out": "f"})"),
            "op.inputs.x: unknown member 'dtyp'; did you mean 'dtype'?");
  EXPECT_EQ(Error(ReadOp, R"({"op": "exp", "inputs": {}, "params": {"a": "1"}, "out": "f"})"),
            "op.params.a: must be a finite number, is a string");
}

TEST(Requests, OpForwardMayBreakAPromise) {
  const std::string start = R"({"op": "forward", "inputs": {}, "out": "f", "violate": )";
  EXPECT_EQ(ReadOp(Parsed(start + "\"dead_write\"}"))->violation, Violation::kDeadWrite);
  EXPECT_EQ(ReadOp(Parsed(start + "\"stale_plane\"}"))->violation, Violation::kStalePlane);
  EXPECT_EQ(ReadOp(Parsed(R"({"op": "forward", "inputs": {}, "out": "f"})"))->violation,
            Violation::kNone);
  EXPECT_EQ(Error(ReadOp, (start + "\"stale_plan\"}").c_str()),
            "op.violate: unknown violation 'stale_plan'; did you mean 'stale_plane'?");
  EXPECT_EQ(Error(ReadOp, (start + "1}").c_str()),
            "op.violate: must be a string, is a whole number");
  EXPECT_EQ(Error(ReadOp, R"({"op": "exp", "inputs": {}, "out": "f", "violate": "dead_write"})"),
            "op.violate: is for the operation 'forward' alone");
}

TEST(Requests, RequestsWithoutFieldsTakeNone) {
  EXPECT_TRUE(ReadNoFields(Parsed(R"({"id": 1, "request": "hello"})"), "hello").ok());
  EXPECT_EQ(
      ReadNoFields(Parsed(R"({"id": 1, "request": "hello", "verbose": 1})"), "hello").message(),
      "hello: unknown member 'verbose'");
}

}  // namespace
}  // namespace fg
