// An advisory lock on a file or folder, held by this process until the object goes or the process
// ends. Other processes see it through the same call.
#pragma once

#include <string>

#include "base/status.h"

namespace fg {

class FileLock {
 public:
  // Waits until the lock is free. `path` is a folder, or a file that is made where it is missing.
  // kIo.
  static Result<FileLock> Take(const std::string& path);
  // kRefused "PATH: another process holds it" instead of waiting.
  static Result<FileLock> TryTake(const std::string& path);
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  static Result<FileLock> Lock(const std::string& path, int operation);
  int fd_;
};

}  // namespace fg
