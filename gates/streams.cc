#include "gates/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/sha256.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

std::string StepText(const Stream& stream, size_t step) {
  if (step >= stream.tokens.size()) return "nothing";
  return fmt::format("token {} (margin {:.6g})", stream.tokens[step],
                     stream.top[step][0] - stream.top[step][1]);
}

}  // namespace

Result<Stream> AskStream(CellEngine& engine, const std::string& prompt, Json request) {
  request["request"] = "generate";
  request["top"] = 2;
  request["stop_at_eos"] = false;
  FG_ASSIGN_OR_RETURN(const Json answer, engine.Ask(request));
  Stream stream;
  stream.prompt = prompt;
  fg::JsonFields fields(answer, "generate");
  const Json* prompt_tokens = fields.RequiredArray("prompt_tokens");
  const Json* tokens = fields.RequiredArray("tokens");
  const Json* top = fields.RequiredArray("top");
  fields.Required("digests", &stream.digests);
  fields.Required("text", &stream.text);
  if (!fields.ok()) return engine.BadAnswer(fields.Finish().message());
  stream.prompt_tokens = prompt_tokens->get<std::vector<int64_t>>();
  stream.tokens = tokens->get<std::vector<int64_t>>();
  for (const Json& step : *top) {
    if (step.size() != 2)
      return engine.BadAnswer("generate.top: two entries a step were asked for");
    stream.top_tokens.push_back({step[0][0].get<int64_t>(), step[1][0].get<int64_t>()});
    // A NaN logit is null in JSON: it must not read as a number.
    const auto value = [](const Json& v) { return v.is_number() ? v.get<double>() : std::nan(""); };
    stream.top.push_back({value(step[0][1]), value(step[1][1])});
  }
  const size_t steps = stream.tokens.size();
  if (steps == 0 || stream.digests.size() != steps || stream.top.size() != steps) {
    return engine.BadAnswer(
        fmt::format("generate for prompt '{}' gave {} tokens, {} digests, {} top entries", prompt,
                    steps, stream.digests.size(), stream.top.size()));
  }
  return stream;
}

Result<std::vector<Prompt>> LoadPrompts(const Project& project, const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<Prompt> prompts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project.Path(folder), error)) {
    if (entry.path().extension() != ".txt") continue;
    FG_ASSIGN_OR_RETURN(std::string text, fg::ReadFile(entry.path().string()));
    prompts.push_back({entry.path().stem().string(), std::move(text)});
  }
  if (prompts.empty()) return Status(ErrorKind::kUsage, folder + ": no prompt (*.txt) there");
  std::sort(prompts.begin(), prompts.end(),
            [](const Prompt& a, const Prompt& b) { return a.name < b.name; });
  return prompts;
}

Result<std::vector<Stream>> CollectStreams(CellEngine& engine, const std::vector<Prompt>& prompts,
                                           const StreamOptions& options) {
  std::vector<Stream> streams;
  for (const Prompt& prompt : prompts) {
    Json request = {
        {"session", prompt.name}, {"prompt", prompt.text}, {"max_tokens", options.tokens}};
    if (options.rows_per_forward > 0) request["rows_per_forward"] = options.rows_per_forward;
    FG_ASSIGN_OR_RETURN(Stream stream, AskStream(engine, prompt.name, std::move(request)));
    streams.push_back(std::move(stream));
  }
  return streams;
}

std::optional<std::string> FindFork(const std::vector<Stream>& a, const std::string& a_name,
                                    const std::vector<Stream>& b, const std::string& b_name) {
  if (a.empty() || a.size() != b.size()) {
    return fmt::format("{} gave {} streams, {} gave {}", a_name, a.size(), b_name, b.size());
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].prompt_tokens != b[i].prompt_tokens) {
      return fmt::format("prompt '{}' was tokenized differently by {} and {}", a[i].prompt, a_name,
                         b_name);
    }
    const size_t steps = std::max(a[i].tokens.size(), b[i].tokens.size());
    if (steps == 0) return fmt::format("prompt '{}': no token to compare", a[i].prompt);
    for (size_t step = 0; step < steps; ++step) {
      const bool both = step < a[i].tokens.size() && step < b[i].tokens.size();
      const bool same_token = both && a[i].tokens[step] == b[i].tokens[step];
      if (same_token && a[i].digests[step] == b[i].digests[step]) continue;
      return fmt::format("prompt '{}', step {}: {}: {} chose {}, {} chose {}", a[i].prompt, step,
                         same_token ? "same token, other logits" : "the streams fork", a_name,
                         StepText(a[i], step), b_name, StepText(b[i], step));
    }
  }
  return std::nullopt;
}

int64_t CountTokens(const std::vector<Stream>& streams) {
  int64_t count = 0;
  for (const Stream& stream : streams) count += static_cast<int64_t>(stream.tokens.size());
  return count;
}

std::string StreamsDigest(const std::vector<Stream>& streams) {
  fg::Sha256 sum;
  for (const Stream& stream : streams) {
    sum.Update(fmt::format("{}\n{}\n{}\n", stream.prompt, fmt::join(stream.tokens, " "),
                           fmt::join(stream.digests, " ")));
  }
  return sum.Hex();
}

Json StreamsJson(const std::vector<Stream>& streams) {
  Json out = Json::array();
  for (const Stream& stream : streams) {
    out.push_back({{"prompt", stream.prompt},
                   {"prompt_tokens", stream.prompt_tokens},
                   {"tokens", stream.tokens},
                   {"digests", stream.digests},
                   {"top", stream.top},
                   {"top_tokens", stream.top_tokens},
                   {"text", stream.text}});
  }
  return out;
}

}  // namespace flipgate
