// What the program flipgate calls in earnest.
#include "gates/runner.h"
#include "promotion/cli.h"
#include "promotion/hashes.h"

namespace flipgate {
namespace {

fg::Result<BundleHashes> HashesOfHead(const Project& project, const std::string& hardware_class) {
  FG_ASSIGN_OR_RETURN(const RevisionHashes head, HashHead(project, hardware_class));
  return BundleHashes{.engine = head.engine,
                      .defaults = head.defaults,
                      .suite = head.suite,
                      .matrix = "",
                      .recipe = head.recipe};
}

}  // namespace

Services RealServices() {
  return {.kinds = AllEvidenceKinds(),
          .run = &RunMatrix,
          .snapshot = &ObtainSnapshot,
          .hashes = &HashesOfHead,
          .faults = &AskFaults};
}

}  // namespace flipgate
