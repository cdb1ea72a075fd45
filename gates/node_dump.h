// The files that an engine wrote under FG_DUMP_DIR (docs/readers.md), read and compared.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace flipgate {

struct DumpedNode {
  int64_t index = 0, layer = 0, rows = 0, columns = 0;
  std::string op, weight, label, sha256;  // of the file's bytes, as they lie there
  std::string path;                       // of the file
};

// Forward's folder -> node's index -> node. kUsage names a file that is missing, has another sum
// than its line, or another size than its shape; so does a folder without forwards.
using NodeDump = std::map<std::string, std::map<int64_t, DumpedNode>>;
fg::Result<NodeDump> ReadNodeDump(const std::string& folder);

// The first node that one side lacks, or whose place or shape differs.
std::optional<std::string> PlaceDifference(const NodeDump& a, const std::string& a_name,
                                           const NodeDump& b, const std::string& b_name);
// The same, or whose bytes differ. Labels may differ.
std::optional<std::string> DumpDifference(const NodeDump& a, const std::string& a_name,
                                          const NodeDump& b, const std::string& b_name);

int64_t CountNodes(const NodeDump& dump);

}  // namespace flipgate
