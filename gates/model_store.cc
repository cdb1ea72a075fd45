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

bool IsUnpinned(const ModelSpec& model) { return model.sha256 == std::string(64, '0'); }

std::string CachedModelPath(const Project& project, const ModelSpec& model,
                            const std::string& folder) {
  return fmt::format("{}/{}-{}.gguf",
                     folder.empty() ? project.Path(project.cache) + "/models" : folder, model.name,
                     model.sha256.substr(0, 16));
}

ModelStore::ModelStore(const Project& project, const Matrix& matrix,
                       std::vector<std::string> engine, std::vector<std::string> environment,
                       std::string folder)
    : project_(project),
      matrix_(matrix),
      engine_(std::move(engine)),
      environment_(std::move(environment)),
      folder_(std::move(folder)) {}

fg::Result<std::string> ModelStore::Path(const std::string& model) {
  std::lock_guard lock(mutex_);
  const auto known = ready_.find(model);
  if (known != ready_.end()) return known->second;
  FG_ASSIGN_OR_RETURN(const std::string path, Make(model));
  ready_[model] = path;
  return path;
}

fg::Status ModelStore::RunEngine(const std::vector<std::string>& words,
                                 const std::string& what) const {
  fg::ProcessSpec spec;
  spec.argv = engine_;
  spec.argv.insert(spec.argv.end(), words.begin(), words.end());
  spec.environment = environment_;
  fg::RunProcessOptions options;
  options.timeout = kQuantizeLimit;
  FG_ASSIGN_OR_RETURN(const fg::ProcessOutput output, fg::RunProcess(spec, options));
  if (output.exit.ok() && !output.timed_out) return fg::Status::Ok();
  return fg::Status(fg::ErrorKind::kIo,
                    fmt::format("{} failed: {}; it said: {}", what,
                                output.timed_out ? "no end within 10 minutes" : output.exit.Text(),
                                output.err.empty() ? "nothing" : output.err));
}

fg::Result<std::string> ModelStore::MakeDequantized(const std::string& source) {
  const auto known = ready_.find(source);
  std::string from;
  if (known != ready_.end()) {
    from = known->second;
  } else {
    FG_ASSIGN_OR_RETURN(from, Make(source));
    ready_[source] = from;
  }
  const std::string to = from.substr(0, from.size() - std::string(".gguf").size()) + ".f32.gguf";
  if (!std::filesystem::exists(to)) {
    FG_RETURN_IF_ERROR(RunEngine({"quantize", from, to, "f32"}, "quantize " + from + " to f32"));
  }
  return to;
}

fg::Status ModelStore::MakeVariant(const ModelSpec& spec, const std::string& path) const {
  if (spec.synthetic()) {
    return RunEngine(
        {"synth", spec.shape, path, "--mix", spec.quantize, "--seed", std::to_string(spec.seed)},
        fmt::format("synth {} as {}", spec.shape, spec.quantize));
  }
  const std::string source = project_.Path(spec.from);
  return RunEngine({"quantize", source, path, spec.quantize},
                   fmt::format("quantize {} to {}", source, spec.quantize));
}

// Called with the lock held: two cells never make the same file at once. Another process may; each
// writes a file of its own and renames it over the same content.
fg::Result<std::string> ModelStore::Make(const std::string& model) {
  FG_RETURN_IF_ERROR(
      fg::MakeFolders(folder_.empty() ? project_.Path(project_.cache) + "/models" : folder_));
  if (model.ends_with(kDequantized)) {
    return MakeDequantized(model.substr(0, model.size() - std::string(kDequantized).size()));
  }
  const ModelSpec* spec = matrix_.FindModel(model);
  if (spec == nullptr) {
    std::vector<std::string> names;
    for (const ModelSpec& known : matrix_.models()) names.push_back(known.name);
    return fg::Status(fg::ErrorKind::kUsage,
                      "unknown model '" + model + "'" + fg::DidYouMean(model, names));
  }
  if (!spec->synthetic() && !std::filesystem::exists(project_.Path(spec->from))) {
    return fg::Status(
        fg::ErrorKind::kIo,
        fmt::format("model '{}': {} is missing; the matrix names it as 'from'", model, spec->from));
  }
  const std::string path = CachedModelPath(project_, *spec, folder_);
  if (!std::filesystem::exists(path)) FG_RETURN_IF_ERROR(MakeVariant(*spec, path));
  FG_ASSIGN_OR_RETURN(const std::string sum, fg::Sha256File(path));
  if (sum == spec->sha256) return path;
  std::filesystem::remove(path);
  if (IsUnpinned(*spec)) {
    return fg::Status(fg::ErrorKind::kUsage,
                      fmt::format("model '{}': the matrix pins no sum of it yet; {} as {} makes "
                                  "sha256 {}: write that",
                                  model, spec->Source(), spec->quantize, sum));
  }
  const char* command = spec->synthetic() ? "synth" : "quantize";
  return fg::Status(
      fg::ErrorKind::kUsage,
      fmt::format("model '{}': {} {} of {} gave sha256 {}, the matrix pins {}; if the "
                  "change of {} is meant, pin the new sum and the oracle's values with it",
                  model, command, spec->quantize, spec->Source(), sum, spec->sha256, command));
}

}  // namespace flipgate
