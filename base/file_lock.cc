#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace fg {

Result<FileLock> FileLock::Lock(const std::string& path, int operation) {
  std::error_code ignored;
  const int flags = std::filesystem::is_directory(path, ignored) ? O_RDONLY : O_RDWR | O_CREAT;
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (fd < 0) return Status(ErrorKind::kIo, path + ": cannot lock: " + std::strerror(errno));
  while (::flock(fd, operation) != 0) {
    if (errno == EINTR) continue;
    const int error = errno;
    ::close(fd);
    if (error == EWOULDBLOCK) {
      return Status(ErrorKind::kRefused, path + ": another process holds it");
    }
    return Status(ErrorKind::kIo, path + ": cannot lock: " + std::strerror(error));
  }
  return FileLock(fd);
}

Result<FileLock> FileLock::Take(const std::string& path) { return Lock(path, LOCK_EX); }

Result<FileLock> FileLock::TryTake(const std::string& path) {
  return Lock(path, LOCK_EX | LOCK_NB);
}

FileLock::FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace fg
