#include "promotion/git.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "base/process.h"
#include "base/sha256.h"

namespace flipgate {

using fg::ErrorKind;
using fg::Result;
using fg::Status;

Result<std::string> Git::Run(const std::vector<std::string>& arguments,
                             std::chrono::milliseconds timeout) const {
  fg::ProcessSpec spec;
  spec.argv = {"git", "-C", root_};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  // No pager, no prompt, no hook of the caller's; the user's configuration stays (safe.directory).
  spec.environment = fg::PassedEnvironment({"PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "LANG"});
  spec.environment.push_back("GIT_TERMINAL_PROMPT=0");
  spec.environment.push_back("GIT_OPTIONAL_LOCKS=0");
  fg::RunProcessOptions options;
  options.timeout = timeout;
  FG_ASSIGN_OR_RETURN(fg::ProcessOutput output, fg::RunProcess(spec, options));
  if (output.exit.ok() && !output.timed_out) return std::move(output.out);
  std::string said = output.err;
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return Status(ErrorKind::kIo, "git " + arguments.front() + ": " +
                                    (output.timed_out ? "no end in time" : output.exit.Text()) +
                                    (said.empty() ? "" : ": " + said));
}

Result<std::string> Git::Resolve(const std::string& revision) const {
  FG_ASSIGN_OR_RETURN(std::string id, Run({"rev-parse", "--verify", "--quiet", "--end-of-options",
                                           revision + "^{commit}"}));
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

Result<std::string> Git::Show(const std::string& revision, const std::string& path) const {
  return Run({"cat-file", "blob", revision + ":" + path});
}

Result<std::string> Git::TreeHash(const std::string& revision,
                                  const std::vector<std::string>& paths) const {
  std::vector<std::string> arguments = {"ls-tree", "-r", "-z", revision, "--"}, left_out;
  for (const std::string& path : paths) {
    path.starts_with('!') ? left_out.push_back(path.substr(1)) : arguments.push_back(path);
  }
  FG_ASSIGN_OR_RETURN(const std::string listing, Run(arguments));
  fg::Sha256 sum;
  for (size_t at = 0; at < listing.size();) {
    const size_t end = listing.find('\0', at);
    const std::string_view entry = std::string_view(listing).substr(at, end + 1 - at);
    const std::string_view path =
        entry.substr(entry.find('\t') + 1, entry.size() - entry.find('\t') - 2);
    const bool out = std::any_of(left_out.begin(), left_out.end(), [&](const std::string& left) {
      return path == left || (path.starts_with(left) && path[left.size()] == '/');
    });
    if (!out) sum.Update(entry);
    at = end + 1;
  }
  return sum.Hex();
}

Result<std::vector<std::string>> Git::Ancestors(const std::string& revision) const {
  FG_ASSIGN_OR_RETURN(const std::string listing, Run({"rev-list", "--end-of-options", revision}));
  std::vector<std::string> commits;
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) commits.push_back(line);
  return commits;
}

Result<bool> Git::Shallow() const {
  FG_ASSIGN_OR_RETURN(const std::string answer, Run({"rev-parse", "--is-shallow-repository"}));
  return answer.starts_with("true");
}

Result<bool> Git::Dirty(const std::vector<std::string>& paths) const {
  std::vector<std::string> arguments = {"status", "--porcelain", "--untracked-files=all", "--"};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  FG_ASSIGN_OR_RETURN(const std::string listing, Run(arguments));
  return !listing.empty();
}

}  // namespace flipgate
