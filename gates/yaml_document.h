// A strict YAML tree with places. Refused, as "FILE:LINE:COLUMN: message" with the line and a
// caret: duplicate keys, aliases, anchors, merge keys, tags, empty values, second documents, more
// than 10,000 nodes, tabs, a byte order mark, bytes that are not UTF-8. A scalar is a string and
// nothing else: no, off, 1.10 and y are text.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace flipgate {

// One-based line and column (in characters).
struct YamlMark {
  int line = 1;
  int column = 1;
};

struct YamlNode {
  enum class Kind { kScalar, kSequence, kMap };
  struct Entry;
  Kind kind = Kind::kScalar;
  YamlMark mark;
  std::string scalar;
  std::vector<YamlNode> items;  // kSequence
  std::vector<Entry> entries;   // kMap, in the file's order
};

struct YamlNode::Entry {
  std::string key;
  YamlMark mark;
  YamlNode value;
};

class YamlDocument {
 public:
  // kUsage with the place of the first mistake.
  static fg::Result<YamlDocument> Parse(std::string text, std::string file_name);
  // Messages name `file_name`, or `path` where that is empty. kIo when the file cannot be read.
  static fg::Result<YamlDocument> Load(const std::string& path, std::string file_name = "");

  const YamlNode& root() const { return root_; }
  const std::string& file_name() const { return file_name_; }
  // kUsage "FILE:LINE:COLUMN: message\n    the line\n      ^".
  fg::Status Error(YamlMark mark, const std::string& message) const;

  // Typed readers; `what` names the value in the message ("version must be ...").
  fg::Result<std::string> String(const YamlNode& node, const std::string& what) const;
  // Decimal digits with an optional '-', no leading zero: no 1_000, 0o17, 1.0.
  fg::Result<int64_t> Integer(const YamlNode& node, const std::string& what) const;
  // Finite decimal: 12, 0.5, 1e-6.
  fg::Result<double> Number(const YamlNode& node, const std::string& what) const;
  // A sequence of strings, none twice.
  fg::Result<std::vector<std::string>> Strings(const YamlNode& node, const std::string& what) const;
  // "60 s", "500 ms", "2 min" to milliseconds, > 0.
  fg::Result<int64_t> Milliseconds(const YamlNode& node, const std::string& what) const;
  // 64 lower-case hexadecimal digits.
  fg::Result<std::string> Sha256(const YamlNode& node, const std::string& what) const;

 private:
  std::string text_, file_name_;
  YamlNode root_;
};

// The entries of one map, each asked for by name; Finish() refuses what nobody asked for, with the
// nearest name.
class YamlMap {
 public:
  // kUsage when `node` is no map.
  static fg::Result<YamlMap> Open(const YamlDocument& document, const YamlNode& node,
                                  std::string what);

  // nullptr when it is missing.
  const YamlNode* Optional(const std::string& key);
  // An error at the map's place when it is missing.
  fg::Result<const YamlNode*> Required(const std::string& key);
  fg::Status Finish() const;

 private:
  YamlMap(const YamlDocument& document, const YamlNode& node, std::string what)
      : document_(&document), node_(&node), what_(std::move(what)) {}

  const YamlDocument* document_;
  const YamlNode* node_;
  std::string what_;
  std::vector<std::string> asked_;
};

}  // namespace flipgate
