#include "engine/gates_yaml.h"

#include <algorithm>
#include <cctype>

#include "base/nearest.h"
#include "engine/yaml_tree.h"

namespace fg {
namespace {

using Words = std::vector<std::string>;

bool IsDate(const std::string& text) {
  if (text.size() != 10) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : !std::isdigit(static_cast<unsigned char>(text[i]))) return false;
  }
  const int month = std::stoi(text.substr(5, 2)), day = std::stoi(text.substr(8, 2));
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<std::vector<ClassDefaults>> Read(const YamlTree& root) {
    FG_RETURN_IF_ERROR(CheckMap(root, "the file", {"version", "classes", "gates"}));
    FG_ASSIGN_OR_RETURN(const YamlTree* version, Required(root, "the file", "version"));
    if (version->text != "1" || version->kind != YamlTree::Kind::kScalar) {
      return Error(*version, "unknown version '" + version->text + "', this engine knows 1");
    }
    FG_ASSIGN_OR_RETURN(const YamlTree* classes, Required(root, "the file", "classes"));
    FG_RETURN_IF_ERROR(ReadClasses(*classes));
    FG_ASSIGN_OR_RETURN(const YamlTree* gates, Required(root, "the file", "gates"));
    FG_RETURN_IF_ERROR(ReadGates(*gates));
    return std::move(classes_);
  }

 private:
  Status Error(const YamlTree& at, const std::string& message) const {
    return YamlError(path_, at, message);
  }

  // A map with no other keys than these.
  Status CheckMap(const YamlTree& node, const std::string& what, const Words& keys) const {
    if (node.kind != YamlTree::Kind::kMap) return Error(node, what + " must be a map");
    for (const auto& [key, value] : node.entries) {
      if (std::find(keys.begin(), keys.end(), key.text) == keys.end()) {
        return Error(key, "unknown key '" + key.text + "' in " + what + DidYouMean(key.text, keys));
      }
    }
    return Status::Ok();
  }

  Result<const YamlTree*> Required(const YamlTree& map, const std::string& what,
                                   const char* key) const {
    if (const YamlTree* value = map.Find(key)) return value;
    return Error(map, what + " lacks the key '" + key + "'");
  }

  Status ReadClasses(const YamlTree& node) {
    if (node.kind != YamlTree::Kind::kList || node.items.empty()) {
      return Error(node, "classes must be a list of names");
    }
    for (const YamlTree& item : node.items) {
      const bool word = item.kind == YamlTree::Kind::kScalar && !item.text.empty() &&
                        std::all_of(item.text.begin(), item.text.end(), [](unsigned char c) {
                          return std::islower(c) || std::isdigit(c) || c == '_';
                        });
      if (!word) return Error(item, "a class is a word of a-z, 0-9 and _");
      if (FindClass(item.text) != nullptr) return Error(item, "class '" + item.text + "' twice");
      class_names_.push_back(item.text);
      classes_.push_back({item.text, {}});
    }
    return Status::Ok();
  }

  // Every gate of the registry has its row, in the registry's order: the suite computes the hash of
  // a class from the file alone (docs/hashes.md).
  Status ReadGates(const YamlTree& node) {
    FG_RETURN_IF_ERROR(CheckMap(node, "gates", GateNames()));
    for (size_t i = 0; i < GateTable().size(); ++i) {
      const std::string name = GateTable()[i].name;
      if (node.Find(name) == nullptr) return Error(node, "gate " + name + " has no row");
      const YamlTree& key = node.entries[i].first;
      if (key.text != name) {
        return Error(key, "gate " + key.text + " stands where the registry has " + name +
                              "; keep the registry's order");
      }
    }
    for (size_t i = 0; i < node.entries.size(); ++i) {
      const auto& [key, rows] = node.entries[i];
      FG_RETURN_IF_ERROR(CheckMap(rows, key.text, class_names_));
      for (const auto& [name, row] : rows.entries) {
        FG_ASSIGN_OR_RETURN(FindClass(name.text)->gates[i],
                            ReadRow(row, GateTable()[i], key.text + "." + name.text, name.text));
      }
    }
    return Status::Ok();
  }

  Result<GateDefault> ReadRow(const YamlTree& row, const GateEntry& entry, const std::string& what,
                              const std::string& hardware_class) const {
    const Words keys = {"stage", "value", "since", "proof", "settle_by", "break_glass"};
    FG_RETURN_IF_ERROR(CheckMap(row, what, keys));
    FG_ASSIGN_OR_RETURN(const YamlTree* stage, Required(row, what, "stage"));
    const Words stages = {"opt_in", "promoted"};
    if (std::find(stages.begin(), stages.end(), stage->text) == stages.end()) {
      return Error(*stage, "unknown stage '" + stage->text + "'" + DidYouMean(stage->text, stages));
    }
    GateDefault result;
    result.stage = stage->text == "promoted" ? GateStage::kPromoted : GateStage::kOptIn;
    if (result.stage == GateStage::kPromoted && hardware_class == "other") {
      return Error(*stage, "class 'other' is always opt_in");
    }
    FG_RETURN_IF_ERROR(ReadValue(row, entry, what, &result));
    for (const char* key : {"since", "settle_by"}) FG_RETURN_IF_ERROR(CheckDate(row, key));
    if (const YamlTree* proof = row.Find("proof")) FG_RETURN_IF_ERROR(CheckWord(*proof, "proof"));
    if (const YamlTree* glass = row.Find("break_glass")) {
      const std::string where = what + ".break_glass";
      FG_RETURN_IF_ERROR(CheckMap(*glass, where, {"who", "reason", "expires"}));
      for (const char* key : {"who", "reason", "expires"}) {
        FG_ASSIGN_OR_RETURN(const YamlTree* value, Required(*glass, where, key));
        FG_RETURN_IF_ERROR(CheckWord(*value, key));
      }
      FG_RETURN_IF_ERROR(CheckDate(*glass, "expires"));
    }
    return result;
  }

  Status ReadValue(const YamlTree& row, const GateEntry& entry, const std::string& what,
                   GateDefault* result) const {
    const YamlTree* value = row.Find("value");
    if (result->stage == GateStage::kOptIn) {
      if (value != nullptr) return Error(*value, what + " is opt_in and takes no value");
      return Status::Ok();
    }
    if (value == nullptr) return Error(row, what + " is promoted and lacks its value");
    const Words values = entry.PromotedValues();
    if (value->kind != YamlTree::Kind::kScalar ||
        std::find(values.begin(), values.end(), value->text) == values.end()) {
      std::string wanted;
      for (const std::string& word : values) wanted += (wanted.empty() ? "" : " or ") + word;
      return Error(*value, "unknown value '" + value->text + "': a promoted " + entry.kind +
                               " has the value " + wanted);
    }
    result->value = value->text;
    return Status::Ok();
  }

  Status CheckWord(const YamlTree& node, const std::string& what) const {
    const bool word = node.kind == YamlTree::Kind::kScalar && !node.text.empty();
    return word ? Status::Ok() : Error(node, what + " must be a text");
  }

  Status CheckDate(const YamlTree& row, const char* key) const {
    const YamlTree* date = row.Find(key);
    if (date == nullptr || IsDate(date->text)) return Status::Ok();
    return Error(*date, std::string(key) + " must be a date YYYY-MM-DD");
  }

  ClassDefaults* FindClass(const std::string& name) {
    for (ClassDefaults& known : classes_) {
      if (known.hardware_class == name) return &known;
    }
    return nullptr;
  }

  const std::string& path_;
  Words class_names_;
  std::vector<ClassDefaults> classes_;
};

}  // namespace

Result<std::vector<ClassDefaults>> ReadDefaultsYaml(const std::string& path,
                                                    std::string_view text) {
  FG_ASSIGN_OR_RETURN(const YamlTree root, ParseYamlTree(path, text));
  return Reader(path).Read(root);
}

std::string DefaultsTableSource(const std::vector<ClassDefaults>& classes) {
  std::string source = "// Made by fg-gates-gen from promotion/defaults.yaml; edit that.\n";
  for (const ClassDefaults& defaults : classes) {
    source += "{\"" + defaults.hardware_class + "\", {{";
    for (const GateDefault& gate : defaults.gates) {
      const bool promoted = gate.stage == GateStage::kPromoted;
      source += std::string("{GateStage::") + (promoted ? "kPromoted" : "kOptIn") + ", \"" +
                gate.value + "\"}, ";
    }
    source += "}}},\n";
  }
  return source;
}

}  // namespace fg
