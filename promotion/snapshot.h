// The snapshot: an older engine, built from its commit in a clean worktree by that revision's
// recipe, kept by content. It is a measuring instrument, so its identity is proven before it is
// used.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "gates/bundle.h"
#include "gates/project.h"
#include "promotion/git.h"

namespace flipgate {

struct Snapshot {
  std::string program;    // absolute path; "" where record.absent says why there is none
  SnapshotRecord record;  // for the bundle
};

// The newest ancestor of HEAD, or HEAD itself, with both hashes; "" when this history has none.
fg::Result<std::string> FindRevision(const Git& git, const Project& project, const SnapshotPin& pin,
                                     const std::string& hardware_class);

// What there is of a class's snapshot, without building it.
struct SnapshotState {
  std::string absent;   // why none is needed, as in SnapshotRecord; else ""
  std::string missing;  // why it cannot be had; else ""
  std::string commit;
  bool kept = false;  // the program lies in the cache and has its booked sum
};
SnapshotState InspectSnapshot(const Project& project, const std::string& hardware_class);

// Finds or builds the snapshot that flipgate.yaml names for a class. Where none is named, or it is
// HEAD itself with nothing promoted, `absent` says so and nothing is built. kUsage: the pinned
// commit is not in this history (and whether the clone is shallow), a program whose own word
// differs from the pin. kIo: the recipe failed (its log is named). `note` gets lines of progress.
fg::Result<Snapshot> ObtainSnapshot(const Project& project, const std::string& hardware_class,
                                    const std::function<void(const std::string&)>& note);

}  // namespace flipgate
