#include "gates/model_store.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "base/process.h"
#include "base/sha256.h"

namespace flipgate {
namespace {

constexpr const char* kDequantized = "@f32";
constexpr std::chrono::minutes kQuantizeLimit{10};

}  // namespace

ModelStore::ModelStore(const Project& project, const Matrix& matrix,
                       std::vector<std::string> engine, std::vector<std::string> environment)
    : project_(project),
      matrix_(matrix),
      engine_(std::move(engine)),
      environment_(std::move(environment)) {}

fg::Result<std::string> ModelStore::Path(const std::string& model) {
  std::lock_guard lock(mutex_);
  const auto known = ready_.find(model);
  if (known != ready_.end()) return known->second;
  FG_ASSIGN_OR_RETURN(const std::string path, Make(model));
  ready_[model] = path;
  return path;
}

fg::Status ModelStore::Quantize(const std::string& from, const std::string& to,
                                const std::string& mix) const {
  fg::ProcessSpec spec;
  spec.argv = engine_;
  for (const std::string& word : {std::string("quantize"), from, to, mix})
    spec.argv.push_back(word);
  spec.environment = environment_;
  fg::RunProcessOptions options;
  options.timeout = kQuantizeLimit;
  FG_ASSIGN_OR_RETURN(const fg::ProcessOutput output, fg::RunProcess(spec, options));
  if (output.exit.ok() && !output.timed_out) return fg::Status::Ok();
  return fg::Status(fg::ErrorKind::kIo,
                    fmt::format("quantize {} to {} failed: {}; it said: {}", from, mix,
                                output.timed_out ? "no end within 10 minutes" : output.exit.Text(),
                                output.err.empty() ? "nothing" : output.err));
}

// Called with the lock held: two cells never make the same file at once. Another process may; each
// writes a file of its own and renames it over the same content.
fg::Result<std::string> ModelStore::Make(const std::string& model) {
  const std::string folder = project_.Path(project_.cache) + "/models";
  FG_RETURN_IF_ERROR(fg::MakeFolders(folder));
  if (model.ends_with(kDequantized)) {
    const std::string source = model.substr(0, model.size() - std::string(kDequantized).size());
    const auto known = ready_.find(source);
    std::string from;
    if (known != ready_.end()) {
      from = known->second;
    } else {
      FG_ASSIGN_OR_RETURN(from, Make(source));
      ready_[source] = from;
    }
    const std::string to = from.substr(0, from.size() - std::string(".gguf").size()) + ".f32.gguf";
    if (!std::filesystem::exists(to)) FG_RETURN_IF_ERROR(Quantize(from, to, "f32"));
    return to;
  }
  const ModelSpec* spec = matrix_.FindModel(model);
  if (spec == nullptr) {
    std::vector<std::string> names;
    for (const ModelSpec& known : matrix_.models()) names.push_back(known.name);
    return fg::Status(fg::ErrorKind::kUsage,
                      "unknown model '" + model + "'" + fg::DidYouMean(model, names));
  }
  const std::string source = project_.Path(spec->from);
  if (!std::filesystem::exists(source)) {
    return fg::Status(
        fg::ErrorKind::kIo,
        fmt::format("model '{}': {} is missing; the matrix names it as 'from'", model, spec->from));
  }
  const std::string path = fmt::format("{}/{}-{}.gguf", folder, model, spec->sha256.substr(0, 16));
  if (!std::filesystem::exists(path)) FG_RETURN_IF_ERROR(Quantize(source, path, spec->quantize));
  FG_ASSIGN_OR_RETURN(const std::string sum, fg::Sha256File(path));
  if (sum == spec->sha256) return path;
  std::filesystem::remove(path);
  return fg::Status(
      fg::ErrorKind::kUsage,
      fmt::format("model '{}': quantize {} of {} gave sha256 {}, the matrix pins {}; if the "
                  "change of quantize is meant, pin the new sum and the oracle's values with it",
                  model, spec->quantize, spec->from, sum, spec->sha256));
}

}  // namespace flipgate
