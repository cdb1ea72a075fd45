#include "promotion/hashes.h"

#include <sstream>

#include "base/sha256.h"
#include "promotion/defaults.h"
#include "promotion/pack_stamp.h"

namespace flipgate {

using fg::Result;

std::string RecipeHash(const std::string& flipgate_yaml) {
  std::string block;
  bool inside = false;
  std::istringstream lines(flipgate_yaml);
  for (std::string line; std::getline(lines, line);) {
    const bool top = !line.empty() && line[0] != ' ' && line[0] != '\t' && line[0] != '#';
    if (top) inside = line.starts_with("build:");
    if (inside) block += line + "\n";
  }
  return fg::Sha256Hex(std::string_view(block));
}

Result<RevisionHashes> HashRevision(const Git& git, const Project& project,
                                    const std::string& revision,
                                    const std::string& hardware_class) {
  RevisionHashes hashes;
  FG_ASSIGN_OR_RETURN(hashes.engine, git.TreeHash(revision, project.engine_paths));
  FG_ASSIGN_OR_RETURN(const std::string defaults, git.Show(revision, project.defaults));
  FG_ASSIGN_OR_RETURN(const auto rows, ReadDefaults(defaults, project.defaults, hardware_class));
  hashes.defaults = DefaultsHash(rows);
  FG_ASSIGN_OR_RETURN(hashes.suite, git.TreeHash(revision, project.suite_paths));
  FG_ASSIGN_OR_RETURN(const std::string yaml, git.Show(revision, "flipgate.yaml"));
  hashes.recipe = RecipeHash(yaml);
  return hashes;
}

Result<RevisionHashes> HashHead(const Project& project, const std::string& hardware_class) {
  FG_ASSIGN_OR_RETURN(const auto stamp, FindPackStamp(project.root));
  if (!stamp) return HashRevision(Git(project.root), project, "HEAD", hardware_class);
  const auto defaults = stamp->defaults.find(hardware_class);
  return RevisionHashes{.engine = stamp->engine,
                        .defaults = defaults == stamp->defaults.end() ? "" : defaults->second,
                        .suite = stamp->suite,
                        .recipe = stamp->recipe};
}

}  // namespace flipgate
