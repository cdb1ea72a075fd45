// Typed readers of yaml_document.h.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

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
  if (node.kind != YamlNode::Kind::kScalar) return KindName(node);
  return node.scalar.size() <= 80 ? "'" + node.scalar + "'"
                                  : "text of " + std::to_string(node.scalar.size()) + " bytes";
}

bool AllDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// -?(0|[1-9][0-9]*)
bool IsWhole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return AllDigits(text) && (text == "0" || text[0] != '0');
}

// A whole number, then perhaps .DIGITS, then perhaps e, a sign or none, and up to three digits.
bool IsDecimal(std::string_view text) {
  if (const size_t e = text.find('e'); e != std::string_view::npos) {
    std::string_view exponent = text.substr(e + 1);
    if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
    if (!AllDigits(exponent) || exponent.size() > 3) return false;
    text = text.substr(0, e);
  }
  if (const size_t point = text.find('.'); point != std::string_view::npos) {
    if (!AllDigits(text.substr(point + 1))) return false;
    text = text.substr(0, point);
  }
  return IsWhole(text);
}

bool IsSum(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isdigit(c) || (c >= 'a' && c <= 'f');
         });
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
  int64_t value = 0;
  const char* end = node.scalar.data() + node.scalar.size();
  if (node.kind != YamlNode::Kind::kScalar || !IsWhole(node.scalar) ||
      std::from_chars(node.scalar.data(), end, value).ec != std::errc()) {
    return Error(node.mark, what + " must be a whole number in plain digits, is " + Shown(node));
  }
  return value;
}

Result<double> YamlDocument::Number(const YamlNode& node, const std::string& what) const {
  double value = 0;
  const char* end = node.scalar.data() + node.scalar.size();
  if (node.kind != YamlNode::Kind::kScalar || !IsDecimal(node.scalar) ||
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
  const size_t blank = std::min(node.scalar.find(' '), node.scalar.size());
  const std::string_view text = node.scalar, count = text.substr(0, blank),
                         unit = text.substr(blank);
  const int64_t scale = unit == " ms" ? 1 : unit == " s" ? 1000 : unit == " min" ? 60000 : 0;
  const bool counts = AllDigits(count) && count[0] != '0' && count.size() <= 9;
  if (node.kind != YamlNode::Kind::kScalar || scale == 0 || !counts) {
    return Error(node.mark,
                 what + " must be a time such as 500 ms, 60 s or 2 min, is " + Shown(node));
  }
  return std::stoll(node.scalar) * scale;
}

Result<std::string> YamlDocument::Sha256(const YamlNode& node, const std::string& what) const {
  if (node.kind != YamlNode::Kind::kScalar || !IsSum(node.scalar)) {
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
