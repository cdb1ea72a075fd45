// Which engine this is: what scripts/stamp saw of the repository at the last build, the compiler,
// and the sum of the running program. docs/hashes.md.
#pragma once

#include <string>
#include <string_view>

namespace fg {

struct BuildInfo {
  std::string version;      // "0.1.0"
  std::string commit;       // 40 hexadecimal digits, empty where the build had no repository
  std::string engine_hash;  // of the engine's inputs at `commit`, empty likewise
  std::string recipe;       // of the block `build:` of flipgate.yaml
  bool dirty = true;        // inputs or defaults differ from `commit`, or there is no commit
  std::string compiler;     // "GNU 12.2.0"
  std::string flags;
};
const BuildInfo& ThisBuild();

// sha256 of the running program, computed at the first call. Empty where it cannot be read.
const std::string& RunningProgramSha256();

// "fg-engine 0.1.0 (0123456789ab, dirty)".
std::string VersionLine(const BuildInfo& build);

}  // namespace fg
