// YAML as a plain tree with places, for files that must not be misread: scalars stay text, and
// anchors, aliases, tags, duplicate keys, a byte-order mark and a second document are refused.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fg {

struct YamlTree {
  enum class Kind { kScalar, kList, kMap };
  Kind kind = Kind::kScalar;
  int line = 1, column = 1;
  std::string text;                                    // of a scalar; an absent value is empty text
  std::vector<YamlTree> items;                         // of a list
  std::vector<std::pair<YamlTree, YamlTree>> entries;  // of a map, keys are scalars

  const YamlTree* Find(std::string_view key) const;  // null when absent
};

// kUsage: "PATH:LINE:COLUMN: ...". At most 10,000 nodes, 64 deep.
Result<YamlTree> ParseYamlTree(const std::string& path, std::string_view text);

// The same form of message for what the reader of the tree finds.
Status YamlError(const std::string& path, const YamlTree& at, const std::string& message);

}  // namespace fg
