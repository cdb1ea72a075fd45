// The probe's requests as values, read strictly. docs/probe.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "engine/session/engine.h"
#include "engine/session/generate.h"

namespace fg {

// Every reader takes the whole request object and gives kUsage, "SITE: message", for the first
// mistake; SITE is the request's word, with the field where there is one ("generate.tokens[3]").

// The words of `request`, in the order of the page.
const std::vector<std::string>& ProbeRequests();

Status ReadNoFields(const Json& request, const std::string& word);  // hello, ledger, memory, ...

struct LoadRequest {
  std::string model;
  EngineOptions options;
};
Result<LoadRequest> ReadLoad(const Json& request);

struct GenerateRequest {
  std::string session = "default";
  std::optional<std::string> prompt;  // or tokens
  std::vector<int32_t> tokens;
  GenerateOptions options;
};
Result<GenerateRequest> ReadGenerate(const Json& request);

struct ScoreRequest {
  std::vector<int32_t> tokens;
  int64_t first = 0;
  ForwardOptions forward;
  std::string out;
};
Result<ScoreRequest> ReadScore(const Json& request);

struct BenchRequest {
  int64_t prefill = 0, decode = 0, context = 0, repetitions = 5;
};
Result<BenchRequest> ReadBench(const Json& request);

struct OpFile {
  std::string file, dtype;
  std::vector<int64_t> shape;
};
struct OpRequest {
  std::string op;
  std::map<std::string, OpFile> inputs;
  std::map<std::string, double> params;
  std::string out;
  Violation violation = Violation::kNone;  // of `forward` alone
};
Result<OpRequest> ReadOp(const Json& request);

}  // namespace fg
