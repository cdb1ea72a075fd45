#include "promotion/worktree.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/file.h"

namespace flipgate {

fg::Result<Worktree> Worktree::Add(const Git& git, const std::string& parent,
                                   const std::string& revision) {
  FG_RETURN_IF_ERROR(fg::MakeFolders(parent));
  const std::string path = parent + "/" + revision.substr(0, 12) + "-" + std::to_string(::getpid());
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  // A worktree whose folder is gone would block its name.
  FG_RETURN_IF_ERROR(git.Run({"worktree", "prune"}).status());
  FG_RETURN_IF_ERROR(git.Run({"worktree", "add", "--detach", "--force", path, revision}).status());
  return Worktree(git, path);
}

Worktree::Worktree(Worktree&& other) noexcept
    : git_(other.git_), path_(std::exchange(other.path_, "")) {}

Worktree::~Worktree() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  (void)git_.Run({"worktree", "prune"}).ok();
}

}  // namespace flipgate
