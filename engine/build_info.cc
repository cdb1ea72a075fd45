#include "engine/build_info.h"

#include "base/sha256.h"
#include "engine/build_stamp.h"
#include "engine/build_toolchain.h"

namespace fg {

const BuildInfo& ThisBuild() {
  static const BuildInfo build = {stamp::kVersion,  stamp::kCommit, stamp::kEngineHash,
                                  stamp::kRecipe,   stamp::kDirty,  toolchain::kCompiler,
                                  toolchain::kFlags};
  return build;
}

const std::string& RunningProgramSha256() {
  static const std::string sum = [] {
    const auto sum = Sha256File("/proc/self/exe");
    return sum.ok() ? *sum : std::string();
  }();
  return sum;
}

std::string VersionLine(const BuildInfo& build) {
  const std::string commit = build.commit.empty() ? "no commit" : build.commit.substr(0, 12);
  return "fg-engine " + build.version + " (" + commit + (build.dirty ? ", dirty)" : ")");
}

}  // namespace fg
