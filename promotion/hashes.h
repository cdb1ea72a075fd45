// The hashes of docs/hashes.md, computed from git objects without a checkout.
#pragma once

#include <string>

#include "base/status.h"
#include "gates/project.h"
#include "promotion/git.h"

namespace flipgate {

struct RevisionHashes {
  std::string engine, defaults, suite, recipe;
};

// All of one revision, by the flipgate.yaml that is given (head's: a revision is asked for by what
// head calls the engine's paths). `defaults` is of `hardware_class`.
fg::Result<RevisionHashes> HashRevision(const Git& git, const Project& project,
                                        const std::string& revision,
                                        const std::string& hardware_class);

// Of what lies in the project's folder: of HEAD, or, where the folder was packed, what its
// stamp.json says.
fg::Result<RevisionHashes> HashHead(const Project& project, const std::string& hardware_class);

// sha256 of the block `build:` of a flipgate.yaml's text.
std::string RecipeHash(const std::string& flipgate_yaml);

}  // namespace flipgate
