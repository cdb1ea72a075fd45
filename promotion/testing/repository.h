// A git repository made for one test, in a folder that is removed first.
#pragma once

#include <string>

namespace flipgate {

class TestRepository {
 public:
  explicit TestRepository(const std::string& name);
  ~TestRepository();
  const std::string& path() const { return path_; }
  void Write(const std::string& file, const std::string& text);
  // Adds everything and commits; returns the commit's id.
  std::string Commit(const std::string& message);
  // Standard output of a git command; fails the test when it fails.
  std::string Git(const std::string& arguments);

 private:
  std::string path_;
};

}  // namespace flipgate
