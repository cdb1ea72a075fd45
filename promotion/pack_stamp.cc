#include "promotion/pack_stamp.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Json;
using fg::JsonFields;
using fg::Result;
using fg::Status;

constexpr int64_t kVersion = 1;

Json SnapshotJson(const PackedSnapshot& snapshot) {
  return {
      {"commit", snapshot.record.commit},     {"engine", snapshot.record.engine},
      {"defaults", snapshot.record.defaults}, {"program_sha256", snapshot.record.program_sha256},
      {"absent", snapshot.record.absent},     {"program", snapshot.program}};
}

Result<PackedSnapshot> ReadSnapshot(const Json& json, const std::string& where) {
  PackedSnapshot snapshot;
  JsonFields fields(json, where);
  fields.Required("commit", &snapshot.record.commit);
  fields.Required("engine", &snapshot.record.engine);
  fields.Required("defaults", &snapshot.record.defaults);
  fields.Required("program_sha256", &snapshot.record.program_sha256);
  fields.Required("absent", &snapshot.record.absent);
  fields.Required("program", &snapshot.program);
  FG_RETURN_IF_ERROR(fields.Finish());
  return snapshot;
}

// An object of texts.
void ReadTexts(JsonFields* fields, const char* name, std::map<std::string, std::string>* out) {
  const Json* object = fields->RequiredObject(name);
  if (object == nullptr) return;
  for (const auto& [key, value] : object->items()) {
    if (!value.is_string())
      return fields->Mistake(std::string(name) + "." + key, "must be a string");
    (*out)[key] = value;
  }
}

}  // namespace

std::string PackedSnapshotPath(const std::string& hardware_class) {
  return "snapshots/" + hardware_class + "/engine";
}

std::string PackStampText(const PackStamp& stamp) {
  Json json = {{"version", kVersion},      {"commit", stamp.commit},     {"dirty", stamp.dirty},
               {"engine", stamp.engine},   {"suite", stamp.suite},       {"recipe", stamp.recipe},
               {"program", stamp.program}, {"defaults", stamp.defaults}, {"files", stamp.files}};
  json["snapshots"] = Json::object();
  for (const auto& [name, snapshot] : stamp.snapshots)
    json["snapshots"][name] = SnapshotJson(snapshot);
  return json.dump(1) + "\n";
}

Result<PackStamp> ParsePackStamp(const std::string& text) {
  FG_ASSIGN_OR_RETURN(const Json json, fg::ParseJson(text, kStampName));
  PackStamp stamp;
  JsonFields fields(json, kStampName);
  int64_t version = 0;
  fields.Required("version", &version);
  if (version != kVersion)
    fields.Mistake("version", fmt::format("this program reads version {}", kVersion));
  fields.Required("commit", &stamp.commit);
  fields.Required("dirty", &stamp.dirty);
  fields.Required("engine", &stamp.engine);
  fields.Required("suite", &stamp.suite);
  fields.Required("recipe", &stamp.recipe);
  fields.Required("program", &stamp.program);
  ReadTexts(&fields, "defaults", &stamp.defaults);
  ReadTexts(&fields, "files", &stamp.files);
  if (const Json* snapshots = fields.RequiredObject("snapshots")) {
    for (const auto& [name, value] : snapshots->items()) {
      auto snapshot = ReadSnapshot(value, std::string(kStampName) + ": snapshots." + name);
      fields.Adopt(snapshot.status());
      if (snapshot.ok()) stamp.snapshots[name] = *snapshot;
    }
  }
  FG_RETURN_IF_ERROR(fields.Finish());
  return stamp;
}

Result<std::optional<PackStamp>> FindPackStamp(const std::string& root) {
  const fs::path folder = root;
  std::error_code ignored;
  if (fs::exists(folder / ".git", ignored) || !fs::is_regular_file(folder / kStampName, ignored))
    return std::optional<PackStamp>();
  FG_ASSIGN_OR_RETURN(const std::string text, fg::ReadFile((folder / kStampName).string()));
  FG_ASSIGN_OR_RETURN(PackStamp stamp, ParsePackStamp(text));
  return std::optional<PackStamp>(std::move(stamp));
}

Result<std::map<std::string, std::string>> SumFiles(const std::string& root) {
  std::map<std::string, std::string> sums;
  std::error_code error;
  fs::recursive_directory_iterator at(root, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string path = at->path().lexically_relative(root).string();
    if (at->is_symlink())
      return Status(ErrorKind::kUsage, path + ": is a link, which a packed folder must not hold");
    if (!at->is_regular_file() || path == kStampName) continue;
    FG_ASSIGN_OR_RETURN(sums[path], fg::Sha256File(at->path().string()));
  }
  if (error) return Status(ErrorKind::kIo, root + ": " + error.message());
  return sums;
}

Result<std::vector<std::string>> ChangedFiles(const std::string& root, const PackStamp& stamp) {
  std::vector<std::string> changed;
  std::set<std::string> folders;
  for (const auto& [path, sum] : stamp.files) {
    const fs::path file = fs::path(root) / path;
    const auto now = fs::is_regular_file(file) ? fg::Sha256File(file.string())
                                               : Result<std::string>(std::string());
    FG_RETURN_IF_ERROR(now.status());
    if (now->empty()) changed.push_back(path + " (gone)");
    if (!now->empty() && *now != sum) changed.push_back(path);
    const size_t slash = path.find('/');
    if (slash != std::string::npos) folders.insert(path.substr(0, slash));
  }
  for (const std::string& folder : folders) {
    std::error_code error;
    fs::recursive_directory_iterator at(fs::path(root) / folder, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string path = at->path().lexically_relative(root).string();
      // What Python leaves behind when it renders the page.
      if (at->is_directory() || path.find("__pycache__/") != std::string::npos) continue;
      if (!stamp.files.contains(path)) changed.push_back(path + " (added)");
    }
  }
  std::sort(changed.begin(), changed.end());
  return changed;
}

std::string ChangedNote(const std::vector<std::string>& changed) {
  constexpr size_t kNamed = 5;
  const std::vector<std::string> first(changed.begin(),
                                       changed.begin() + std::min(kNamed, changed.size()));
  return fmt::format(
      "this folder is not as it was packed ({} {}: {}{}): its evidence counts as dirty",
      changed.size(), changed.size() == 1 ? "file" : "files", fmt::join(first, ", "),
      changed.size() > kNamed ? ", ..." : "");
}

}  // namespace flipgate
