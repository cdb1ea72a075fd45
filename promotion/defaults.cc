#include "promotion/defaults.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "gates/yaml_document.h"

namespace flipgate {
namespace {

using fg::Result;
using fg::Status;

// `rows` gets the row of one gate from its map of classes.
Status ReadRow(const YamlDocument& document, const YamlNode::Entry& gate,
               const std::string& hardware_class, std::vector<DefaultRow>* rows) {
  DefaultRow row;
  row.gate = gate.key;
  if (gate.value.kind != YamlNode::Kind::kMap) {
    return document.Error(gate.value.mark, "gate '" + gate.key + "' must be a map of classes");
  }
  for (const YamlNode::Entry& entry : gate.value.entries) {
    if (entry.key != hardware_class || hardware_class == "other") continue;
    FG_ASSIGN_OR_RETURN(YamlMap fields,
                        YamlMap::Open(document, entry.value, gate.key + "." + entry.key));
    FG_ASSIGN_OR_RETURN(const YamlNode* stage, fields.Required("stage"));
    FG_ASSIGN_OR_RETURN(const std::string word, document.String(*stage, "stage"));
    if (word != "opt_in" && word != "promoted") {
      return document.Error(stage->mark, "stage must be opt_in or promoted, is '" + word + "'");
    }
    row.promoted = word == "promoted";
    if (const YamlNode* value = fields.Optional("value")) {
      FG_ASSIGN_OR_RETURN(row.value, document.String(*value, "value"));
    }
    if (row.promoted && row.value.empty()) {
      return document.Error(entry.mark, gate.key + " is promoted but has no value");
    }
  }
  rows->push_back(std::move(row));
  return Status::Ok();
}

}  // namespace

Result<std::vector<DefaultRow>> ReadDefaults(const std::string& text, const std::string& file_name,
                                             const std::string& hardware_class) {
  FG_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, file_name));
  FG_ASSIGN_OR_RETURN(YamlMap root, YamlMap::Open(document, document.root(), "the file"));
  FG_ASSIGN_OR_RETURN(const YamlNode* gates, root.Required("gates"));
  if (gates->kind != YamlNode::Kind::kMap)
    return document.Error(gates->mark, "gates must be a map");
  std::vector<DefaultRow> rows;
  for (const YamlNode::Entry& gate : gates->entries) {
    FG_RETURN_IF_ERROR(ReadRow(document, gate, hardware_class, &rows));
  }
  return rows;
}

Result<std::vector<std::string>> ReadClasses(const std::string& text,
                                             const std::string& file_name) {
  FG_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, file_name));
  FG_ASSIGN_OR_RETURN(YamlMap root, YamlMap::Open(document, document.root(), "the file"));
  FG_ASSIGN_OR_RETURN(const YamlNode* classes, root.Required("classes"));
  return document.Strings(*classes, "classes");
}

Status CheckClass(const Project& project, const std::string& hardware_class) {
  const std::string path = project.Path(project.defaults);
  if (!std::filesystem::exists(path)) return Status::Ok();
  FG_ASSIGN_OR_RETURN(const std::string text, fg::ReadFile(path));
  FG_ASSIGN_OR_RETURN(const auto classes, ReadClasses(text, project.defaults));
  if (std::find(classes.begin(), classes.end(), hardware_class) != classes.end())
    return Status::Ok();
  return Status(
      fg::ErrorKind::kUsage,
      fmt::format("--class {0}: unknown hardware class '{0}'{1}; the classes of {2} are {3}",
                  hardware_class, fg::DidYouMean(hardware_class, classes), project.defaults,
                  fmt::join(classes, ", ")));
}

std::string DefaultsHash(const std::vector<DefaultRow>& rows) {
  std::string text;
  for (const DefaultRow& row : rows) {
    text += row.gate + (row.promoted ? " promoted " + row.value : " opt_in") + "\n";
  }
  return fg::Sha256Hex(std::string_view(text));
}

}  // namespace flipgate
