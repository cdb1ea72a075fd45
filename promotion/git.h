// What the suite asks of git: objects and history, never a checkout of the caller's tree.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/status.h"

namespace flipgate {

class Git {
 public:
  explicit Git(std::string root) : root_(std::move(root)) {}

  // Standard output of `git -C ROOT arguments...`. kIo with git's own words when it fails.
  fg::Result<std::string> Run(const std::vector<std::string>& arguments,
                              std::chrono::milliseconds timeout = std::chrono::minutes(2)) const;

  fg::Result<std::string> Resolve(const std::string& revision) const;  // 40 hexadecimal digits
  // Bytes of a file at a revision; kIo when it has none.
  fg::Result<std::string> Show(const std::string& revision, const std::string& path) const;
  // sha256 of `git ls-tree -r -z REV -- PATHS` (docs/hashes.md). A path that begins with '!' is
  // left out of what the others name, with all below it.
  fg::Result<std::string> TreeHash(const std::string& revision,
                                   const std::vector<std::string>& paths) const;
  // `revision` and its ancestors, newest first.
  fg::Result<std::vector<std::string>> Ancestors(const std::string& revision) const;
  // Whether the clone was cut off at some depth.
  fg::Result<bool> Shallow() const;
  // True when anything below `paths` differs from HEAD, untracked files included.
  fg::Result<bool> Dirty(const std::vector<std::string>& paths) const;

  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

}  // namespace flipgate
