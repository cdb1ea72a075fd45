// A clean checkout of one commit beside the caller's tree, gone with the object.
#pragma once

#include <string>

#include "base/status.h"
#include "promotion/git.h"

namespace flipgate {

class Worktree {
 public:
  // `git worktree add --detach` below `parent`. kIo with git's words.
  static fg::Result<Worktree> Add(const Git& git, const std::string& parent,
                                  const std::string& revision);
  Worktree(Worktree&& other) noexcept;
  Worktree& operator=(Worktree&&) = delete;
  ~Worktree();
  const std::string& path() const { return path_; }

 private:
  Worktree(Git git, std::string path) : git_(std::move(git)), path_(std::move(path)) {}
  Git git_;
  std::string path_;
};

}  // namespace flipgate
