#include "base/testing/temp_dir.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace fg {
namespace {

class Folder {
 public:
  Folder() : path_(testing::TempDir() + "fg_test_XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      std::perror(path_.c_str());
      std::abort();
    }
    path_ += '/';
  }
  ~Folder() {
    // A forked child that exits is not the owner.
    std::error_code ignored;
    if (::getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  pid_t owner_ = ::getpid();
};

}  // namespace

const std::string& ProcessTempDir() {
  static const Folder folder;
  return folder.path();
}

}  // namespace fg
