// promotion/defaults.yaml to the table that is compiled in. Strict: what is not understood in full
// is refused with file, line and column, for a default that was misread would move unseen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/gates_table.h"

namespace fg {

// `path` is only named in messages: "PATH:LINE:COLUMN: what is wrong". kUsage.
Result<std::vector<ClassDefaults>> ReadDefaultsYaml(const std::string& path, std::string_view text);

// The initializers that gates_defaults.cc includes.
std::string DefaultsTableSource(const std::vector<ClassDefaults>& classes);

}  // namespace fg
