#include "gates/logits.h"

#include <cstring>

#include "base/file.h"
#include "base/sha256.h"

namespace flipgate {

using fg::Json;

fg::Result<Logits> Score(RunContext& context, CellEngine& engine,
                         const std::vector<int64_t>& tokens, int64_t first, const std::string& name,
                         int64_t rows_per_forward) {
  const std::string path = context.scratch() + "/" + name + ".f32";
  Json request = {{"request", "score"}, {"tokens", tokens}, {"first", first}, {"out", path}};
  if (rows_per_forward > 0) request["rows_per_forward"] = rows_per_forward;
  FG_ASSIGN_OR_RETURN(const Json answer, engine.Ask(request));
  Logits logits;
  logits.rows = answer.value("rows", int64_t{0});
  logits.vocabulary = answer.value("vocabulary", int64_t{0});
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(path));
  const int64_t rows = static_cast<int64_t>(tokens.size()) - first;
  if (logits.rows != rows || logits.vocabulary <= 0 ||
      bytes.size() != static_cast<size_t>(rows * logits.vocabulary) * sizeof(float)) {
    return engine.BadAnswer(
        "score: the file's size does not fit the rows and vocabulary that the answer tells");
  }
  if (answer.value("digest", "") != fg::Sha256Hex(std::string_view(bytes))) {
    return engine.BadAnswer("score: the file's sum is not the answer's digest");
  }
  logits.values.resize(bytes.size() / sizeof(float));
  std::memcpy(logits.values.data(), bytes.data(), bytes.size());
  return logits;
}

}  // namespace flipgate
