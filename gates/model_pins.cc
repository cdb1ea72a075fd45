#include "gates/model_pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

Result<PromptPins> ReadPrompt(const Json& entry, const std::string& folder) {
  PromptPins pins;
  fg::JsonFields fields(entry, folder + "/index.json: prompts");
  fields.Required("name", &pins.name);
  const Json* ids = fields.RequiredArray("ids");
  const Json* tokens = fields.RequiredArray("tokens");
  const Json* margins = fields.RequiredArray("margins");
  const Json* logits = fields.RequiredObject("logits");
  if (!fields.ok()) return fields.Finish();
  pins.ids = ids->get<std::vector<int64_t>>();
  pins.tokens = tokens->get<std::vector<int64_t>>();
  pins.margins = margins->get<std::vector<double>>();
  const auto shape = logits->value("shape", std::vector<int64_t>{});
  const std::string path = folder + "/" + logits->value("file", "");
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(path));
  const size_t steps = pins.tokens.size();
  if (steps == 0 || pins.margins.size() < steps || shape.size() != 2 ||
      shape[0] != static_cast<int64_t>(steps) + 1 || shape[1] <= 0 ||
      bytes.size() != static_cast<size_t>(shape[0] * shape[1]) * sizeof(float)) {
    return Status(ErrorKind::kUsage, path + ": its shape does not fit the prompt's pinned tokens");
  }
  pins.vocabulary = shape[1];
  pins.logits.resize(bytes.size() / sizeof(float));
  std::memcpy(pins.logits.data(), bytes.data(), bytes.size());
  return pins;
}

Result<ModelPins> ReadIndex(const Json& index, const std::string& path, const std::string& shown) {
  ModelPins pins;
  pins.folder = shown;
  const Json tolerance = index.value("tolerance", Json::object());
  for (const char* name : {"int8", "f16"}) {
    const double value = tolerance.value(name, 0.0);
    if (!(value > 0) || !std::isfinite(value)) {
      return Status(ErrorKind::kUsage,
                    fmt::format("{}/index.json: tolerance.{} must be above 0", shown, name));
    }
    pins.tolerances[name] = value;
  }
  for (const Json& entry : index.value("prompts", Json::array())) {
    FG_ASSIGN_OR_RETURN(PromptPins prompt, ReadPrompt(entry, path));
    pins.prompts.push_back(std::move(prompt));
  }
  if (pins.prompts.empty()) {
    return Status(ErrorKind::kUsage, shown + "/index.json: no prompt is pinned");
  }
  return pins;
}

}  // namespace

const PromptPins* ModelPins::Find(const std::string& name) const {
  const auto found = std::find_if(prompts.begin(), prompts.end(),
                                  [&](const PromptPins& p) { return p.name == name; });
  return found == prompts.end() ? nullptr : &*found;
}

Result<ModelPins> LoadModelPins(const Project& project, const std::string& folder,
                                const std::string& model, const std::string& loaded_sha256) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(project.Path(folder), error)) {
    const std::string shown = folder + "/" + entry.path().filename().string();
    if (!fs::exists(entry.path() / "index.json")) continue;
    FG_ASSIGN_OR_RETURN(const std::string text,
                        fg::ReadFile(entry.path().string() + "/index.json"));
    FG_ASSIGN_OR_RETURN(const Json index, fg::ParseJson(text, shown + "/index.json"));
    if (index.value("model", Json::object()).value("sha256", "") == loaded_sha256) {
      return ReadIndex(index, entry.path().string(), shown);
    }
  }
  return Status(ErrorKind::kUsage,
                fmt::format("{}: no pins are of the file of '{}' (sha256 {}); run "
                            "fixtures/oracle/make_all_pins.sh",
                            folder, model, loaded_sha256));
}

std::string PinnedPath(const std::vector<std::string>& labels) {
  const bool int8 = std::any_of(labels.begin(), labels.end(), [](const std::string& label) {
    return label.starts_with("prefill matmul mmq.") || label.starts_with("decode matmul row.q");
  });
  return int8 ? "int8" : "f16";
}

std::optional<std::string> PinsComparison::WhyNot() const {
  if (fault) return "against the oracle: " + *fault;
  if (compared == 0) return "no token was held against the oracle";
  return std::nullopt;
}

PinsComparison CompareWithPins(const std::vector<Stream>& streams,
                               const std::vector<std::string>& labels, const ModelPins& pins) {
  PinsComparison result;
  const double tolerance = pins.tolerances.at(PinnedPath(labels));
  for (const Stream& stream : streams) {
    const PromptPins* pinned = pins.Find(stream.prompt);
    if (pinned == nullptr) continue;
    if (stream.prompt_tokens != pinned->ids) {
      result.fault =
          fmt::format("prompt '{}' was tokenized differently than by the oracle", stream.prompt);
      return result;
    }
    const size_t steps = std::min(stream.tokens.size(), pinned->tokens.size());
    for (size_t step = 0; step < steps; ++step) {
      const bool same = stream.tokens[step] == pinned->tokens[step];
      const bool bound = pinned->margins[step] > tolerance;
      if (same) {
        bound ? ++result.compared : ++result.free;
        continue;
      }
      if (!bound) {
        ++result.free;
        break;
      }
      result.fault = fmt::format(
          "prompt '{}', step {}: token {} (margin {:.6g}), but the float64 oracle chose {} "
          "(margin {:.6g}, above the tolerance {:.6g})",
          stream.prompt, step, stream.tokens[step], stream.top[step][0] - stream.top[step][1],
          pinned->tokens[step], pinned->margins[step], tolerance);
      return result;
    }
  }
  return result;
}

std::optional<std::string> TopLogitsFault(const std::vector<Stream>& streams,
                                          const std::vector<std::string>& labels,
                                          const ModelPins& pins, int64_t* compared) {
  const double tolerance = pins.tolerances.at(PinnedPath(labels));
  for (const Stream& stream : streams) {
    const PromptPins* pinned = pins.Find(stream.prompt);
    if (pinned == nullptr) continue;
    const size_t steps = std::min(stream.tokens.size(), pinned->tokens.size());
    for (size_t step = 0; step < steps; ++step) {
      for (size_t i = 0; i < 2; ++i) {
        const int64_t token = stream.top_tokens[step][i];
        const bool known = token >= 0 && token < pinned->vocabulary;
        const double exact = known ? pinned->logits[step * static_cast<size_t>(pinned->vocabulary) +
                                                    static_cast<size_t>(token)]
                                   : std::nan("");
        const double got = stream.top[step][i];
        ++*compared;
        if (std::abs(got - exact) <= tolerance) continue;  // a NaN is never inside
        return fmt::format(
            "prompt '{}', step {}: logit {} is {:.6g}, float64 has {:.6g}; tolerance {:.6g}",
            stream.prompt, step, token, got, exact, tolerance);
      }
      if (stream.tokens[step] != pinned->tokens[step]) break;  // other tokens, other logits
    }
  }
  return std::nullopt;
}

}  // namespace flipgate
