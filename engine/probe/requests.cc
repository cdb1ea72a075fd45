#include "engine/probe/requests.h"

#include <limits>

#include "base/nearest.h"

namespace fg {
namespace {

// The fields of a request, `id` and `request` taken as read.
JsonFields FieldsOf(const Json& request, const char* word) {
  JsonFields fields(request, word);
  fields.Optional("id");
  fields.Optional("request");
  return fields;
}

void AtLeast(JsonFields& fields, const char* name, int64_t least, int64_t value) {
  if (fields.Has(name) && value < least) {
    fields.Mistake(name,
                   "must be at least " + std::to_string(least) + ", is " + std::to_string(value));
  }
}

void ReadTokens(JsonFields& fields, std::vector<int32_t>* tokens) {
  const Json* array = fields.RequiredArray("tokens");
  if (array == nullptr) return;
  if (array->empty()) return fields.Mistake("tokens", "must not be empty");
  for (size_t i = 0; i < array->size(); ++i) {
    const Json& item = (*array)[i];
    const std::string name = "tokens[" + std::to_string(i) + "]";
    if (!item.is_number_integer()) {
      return fields.Mistake(name, std::string("must be a token's id, is ") + JsonTypeName(item));
    }
    const bool fits =
        item.is_number_unsigned() && item.get<uint64_t>() <= std::numeric_limits<int32_t>::max();
    if (!fits) return fields.Mistake(name, item.dump() + " is no token's id");
    tokens->push_back(item.get<int32_t>());
  }
}

void ReadForward(JsonFields& fields, ForwardOptions* forward) {
  fields.Optional("rows_per_forward", &forward->rows_per_forward);
  AtLeast(fields, "rows_per_forward", 1, forward->rows_per_forward);
  fields.Optional("reuse", &forward->reuse_graph);
}

void ReadPath(JsonFields& fields, const char* name, std::string* path) {
  fields.Required(name, path);
  if (fields.Has(name) && path->empty()) fields.Mistake(name, "must not be empty");
}

Status ReadSampling(const Json& value, SamplingOptions* sampling) {
  JsonFields fields(value, "generate.sampling");
  fields.Optional("temperature", &sampling->temperature);
  if (sampling->temperature < 0) fields.Mistake("temperature", "must not be negative");
  if (const Json* seed = fields.Optional("seed")) {
    if (seed->is_number_unsigned()) {
      sampling->seed = seed->get<uint64_t>();
    } else {
      fields.Mistake("seed", "must be a whole number of 64 bits, not negative");
    }
  }
  int64_t top_k = 0;
  fields.Optional("top_k", &top_k);
  if (top_k < 0 || top_k > std::numeric_limits<int32_t>::max()) {
    fields.Mistake("top_k", "must be from 0 to 2147483647, is " + std::to_string(top_k));
  }
  sampling->top_k = static_cast<int>(top_k);
  fields.Optional("top_p", &sampling->top_p);
  if (!(sampling->top_p > 0 && sampling->top_p <= 1)) {
    fields.Mistake("top_p", "must be above 0 and at most 1");
  }
  return fields.Finish();
}

// "violate": what `forward` is to break.
void ReadViolation(JsonFields& fields, const std::string& op, Violation* violation) {
  std::string word;
  fields.Optional("violate", &word);
  if (!fields.ok() || !fields.Has("violate")) return;
  if (op != "forward") return fields.Mistake("violate", "is for the operation 'forward' alone");
  const std::vector<std::string> known = {"dead_write", "stale_plane"};
  if (word == known[0]) {
    *violation = Violation::kDeadWrite;
  } else if (word == known[1]) {
    *violation = Violation::kStalePlane;
  } else {
    fields.Mistake("violate", "unknown violation '" + word + "'" + DidYouMean(word, known));
  }
}

Result<OpFile> ReadOpFile(const Json& value, const std::string& where) {
  JsonFields fields(value, where);
  OpFile file;
  ReadPath(fields, "file", &file.file);
  fields.Required("dtype", &file.dtype);
  if (const Json* shape = fields.RequiredArray("shape")) {
    for (const Json& size : *shape) {
      const bool fits = size.is_number_unsigned() && size.get<uint64_t>() >= 1 &&
                        size.get<uint64_t>() <= std::numeric_limits<int32_t>::max();
      if (!fits) {
        fields.Mistake("shape[" + std::to_string(file.shape.size()) + "]",
                       "must be a whole number from 1 to 2147483647");
        break;
      }
      file.shape.push_back(size.get<int64_t>());
    }
  }
  FG_RETURN_IF_ERROR(fields.Finish());
  return file;
}

}  // namespace

const std::vector<std::string>& ProbeRequests() {
  static const std::vector<std::string> words = {"hello", "load",   "generate", "score", "bench",
                                                 "op",    "ledger", "memory",   "reset", "quit"};
  return words;
}

Status ReadNoFields(const Json& request, const std::string& word) {
  return FieldsOf(request, word.c_str()).Finish();
}

Result<LoadRequest> ReadLoad(const Json& request) {
  JsonFields fields = FieldsOf(request, "load");
  LoadRequest load;
  ReadPath(fields, "model", &load.model);
  fields.Optional("context", &load.options.context);
  AtLeast(fields, "context", 1, load.options.context);
  fields.Optional("batch", &load.options.batch);
  AtLeast(fields, "batch", 1, load.options.batch);
  FG_RETURN_IF_ERROR(fields.Finish());
  return load;
}

Result<GenerateRequest> ReadGenerate(const Json& request) {
  JsonFields fields = FieldsOf(request, "generate");
  GenerateRequest generate;
  generate.options.digests = true;
  fields.Optional("session", &generate.session);
  std::string prompt;
  fields.Optional("prompt", &prompt);
  if (fields.Has("prompt") == fields.Has("tokens")) {
    fields.Mistake("prompt", "exactly one of 'prompt' and 'tokens' must be given");
  } else if (fields.Has("prompt")) {
    if (prompt.empty()) fields.Mistake("prompt", "must not be empty");
    generate.prompt = prompt;
  } else {
    ReadTokens(fields, &generate.tokens);
  }
  fields.Optional("tokens");
  fields.Optional("max_tokens", &generate.options.max_tokens);
  AtLeast(fields, "max_tokens", 0, generate.options.max_tokens);
  ReadForward(fields, &generate.options.forward);
  int64_t top = 0;
  fields.Optional("top", &top);
  if (top < 0 || top > 64) {
    fields.Mistake("top", "must be from 0 to 64, is " + std::to_string(top));
  }
  generate.options.top = static_cast<int>(top);
  fields.Optional("stop_at_eos", &generate.options.stop_at_eos);
  fields.Optional("digests", &generate.options.digests);
  const Json* sampling = fields.Optional("sampling");
  FG_RETURN_IF_ERROR(fields.Finish());
  if (sampling != nullptr) {
    FG_RETURN_IF_ERROR(ReadSampling(*sampling, &generate.options.sampling));
  }
  return generate;
}

Result<ScoreRequest> ReadScore(const Json& request) {
  JsonFields fields = FieldsOf(request, "score");
  ScoreRequest score;
  ReadTokens(fields, &score.tokens);
  fields.Optional("first", &score.first);
  const int64_t tokens = static_cast<int64_t>(score.tokens.size());
  if (score.first < 0 || (tokens > 0 && score.first >= tokens)) {
    fields.Mistake("first", "must be one of the " + std::to_string(tokens) + " positions, is " +
                                std::to_string(score.first));
  }
  ReadForward(fields, &score.forward);
  ReadPath(fields, "out", &score.out);
  FG_RETURN_IF_ERROR(fields.Finish());
  return score;
}

Result<BenchRequest> ReadBench(const Json& request) {
  JsonFields fields = FieldsOf(request, "bench");
  BenchRequest bench;
  fields.Optional("prefill", &bench.prefill);
  AtLeast(fields, "prefill", 0, bench.prefill);
  fields.Optional("decode", &bench.decode);
  AtLeast(fields, "decode", 0, bench.decode);
  fields.Optional("context", &bench.context);
  AtLeast(fields, "context", 0, bench.context);
  fields.Optional("repetitions", &bench.repetitions);
  AtLeast(fields, "repetitions", 1, bench.repetitions);
  if (bench.prefill == 0 && bench.decode == 0) {
    fields.Mistake("prefill", "one of 'prefill' and 'decode' must be above 0");
  }
  FG_RETURN_IF_ERROR(fields.Finish());
  return bench;
}

Result<OpRequest> ReadOp(const Json& request) {
  JsonFields fields = FieldsOf(request, "op");
  OpRequest op;
  fields.Required("op", &op.op);
  const Json* inputs = fields.RequiredObject("inputs");
  const Json* params = fields.Has("params") ? fields.RequiredObject("params") : nullptr;
  ReadPath(fields, "out", &op.out);
  ReadViolation(fields, op.op, &op.violation);
  FG_RETURN_IF_ERROR(fields.Finish());
  for (const auto& [name, value] : inputs->items()) {
    FG_ASSIGN_OR_RETURN(op.inputs[name], ReadOpFile(value, "op.inputs." + name));
  }
  if (params == nullptr) return op;
  JsonFields values(*params, "op.params");
  for (const auto& [name, value] : params->items()) {
    values.Required(name.c_str(), &op.params[name]);
  }
  FG_RETURN_IF_ERROR(values.Finish());
  return op;
}

}  // namespace fg
