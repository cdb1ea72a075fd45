// Typed readers of yaml_document.h.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <regex>

#include "base/nearest.h"
#include "gates/yaml_document.h"

namespace flipgate {
namespace {

using fg::Result;
using fg::Status;

const char* KindName(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kScalar:
      return "text";
    case YamlNode::Kind::kSequence:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "";
}

std::string Shown(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar ? "'" + node.scalar + "'" : KindName(node);
}

// std::regex recurses per character, so long text is refused unread.
bool Matches(const YamlNode& node, const std::regex& pattern) {
  return node.kind == YamlNode::Kind::kScalar && node.scalar.size() <= 64 &&
         std::regex_match(node.scalar, pattern);
}

}  // namespace

Result<std::string> YamlDocument::String(const YamlNode& node, const std::string& what) const {
  if (node.kind != YamlNode::Kind::kScalar) {
    return Error(node.mark, what + " must be text, is " + KindName(node));
  }
  if (node.scalar.empty()) return Error(node.mark, what + " must not be empty");
  return node.scalar;
}

Result<int64_t> YamlDocument::Integer(const YamlNode& node, const std::string& what) const {
  static const std::regex kWhole("-?(0|[1-9][0-9]*)");
  int64_t value = 0;
  const char* end = node.scalar.data() + node.scalar.size();
  if (!Matches(node, kWhole) || std::from_chars(node.scalar.data(), end, value).ec != std::errc()) {
    return Error(node.mark, what + " must be a whole number in plain digits, is " + Shown(node));
  }
  return value;
}

Result<double> YamlDocument::Number(const YamlNode& node, const std::string& what) const {
  static const std::regex kDecimal("-?(0|[1-9][0-9]*)(\\.[0-9]+)?(e[-+]?[0-9]{1,3})?");
  double value = 0;
  const char* end = node.scalar.data() + node.scalar.size();
  if (!Matches(node, kDecimal) ||
      std::from_chars(node.scalar.data(), end, value).ec != std::errc() || !std::isfinite(value)) {
    return Error(node.mark,
                 what + " must be a finite decimal number such as 0.5 or 1e-6, is " + Shown(node));
  }
  return value;
}

Result<std::vector<std::string>> YamlDocument::Strings(const YamlNode& node,
                                                       const std::string& what) const {
  if (node.kind != YamlNode::Kind::kSequence) {
    return Error(node.mark, what + " must be a list, is " + Shown(node));
  }
  std::vector<std::string> strings;
  for (const YamlNode& item : node.items) {
    FG_ASSIGN_OR_RETURN(std::string text, String(item, "each of " + what));
    if (std::find(strings.begin(), strings.end(), text) != strings.end()) {
      return Error(item.mark, "'" + text + "' stands twice in " + what);
    }
    strings.push_back(std::move(text));
  }
  return strings;
}

Result<int64_t> YamlDocument::Milliseconds(const YamlNode& node, const std::string& what) const {
  static const std::regex kTime("([1-9][0-9]{0,8}) (ms|s|min)");
  if (!Matches(node, kTime)) {
    return Error(node.mark,
                 what + " must be a time such as 500 ms, 60 s or 2 min, is " + Shown(node));
  }
  const int64_t count = std::stoll(node.scalar);
  const std::string_view unit = std::string_view(node.scalar).substr(node.scalar.find(' ') + 1);
  return count * (unit == "ms" ? 1 : unit == "s" ? 1000 : 60000);
}

Result<std::string> YamlDocument::Sha256(const YamlNode& node, const std::string& what) const {
  static const std::regex kSum("[0-9a-f]{64}");
  if (!Matches(node, kSum)) {
    return Error(node.mark, what + " must be 64 lower-case hexadecimal digits, is " + Shown(node));
  }
  return node.scalar;
}

Result<YamlMap> YamlMap::Open(const YamlDocument& document, const YamlNode& node,
                              std::string what) {
  if (node.kind != YamlNode::Kind::kMap) {
    return document.Error(node.mark, what + " must be a map, is " + Shown(node));
  }
  return YamlMap(document, node, std::move(what));
}

const YamlNode* YamlMap::Optional(const std::string& key) {
  asked_.push_back(key);
  for (const YamlNode::Entry& entry : node_->entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Result<const YamlNode*> YamlMap::Required(const std::string& key) {
  const YamlNode* value = Optional(key);
  if (value == nullptr) return document_->Error(node_->mark, what_ + " has no '" + key + "'");
  return value;
}

Status YamlMap::Finish() const {
  for (const YamlNode::Entry& entry : node_->entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) != asked_.end()) continue;
    return document_->Error(entry.mark, "unknown key '" + entry.key + "' in " + what_ +
                                            fg::DidYouMean(entry.key, asked_));
  }
  return Status::Ok();
}

}  // namespace flipgate
