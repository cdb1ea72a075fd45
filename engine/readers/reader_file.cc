#include "engine/readers/reader_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "engine/gates_settings.h"

namespace fg {
namespace {

std::string Said(const std::string& variable, const std::string& path) {
  return variable + "=" + QuoteValue(path);
}

Status Unusable(const std::string& said, const std::string& reason) {
  return Status(ErrorKind::kUsage, said + ": " + reason);
}

}  // namespace

// O_NONBLOCK: a FIFO would hold the open for ever before it can be refused. Emptied only when the
// lock is ours: the file may be another process's.
Result<std::unique_ptr<ReaderFile>> ReaderFile::Create(const std::string& variable,
                                                       const std::string& path) {
  const std::string said = Said(variable, path);
  FG_RETURN_IF_ERROR(CheckReaderFile(variable, path));
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd < 0) return Unusable(said, std::string("cannot write: ") + std::strerror(errno));
  std::unique_ptr<ReaderFile> file(new ReaderFile(said, fd));
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return Unusable(said, "is no regular file");
  }
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return Unusable(said, "another engine is writing it; give each its own file");
  }
  if (::ftruncate(fd, 0) != 0) {
    return Unusable(said, std::string("cannot write: ") + std::strerror(errno));
  }
  return file;
}

ReaderFile::~ReaderFile() { ::close(fd_); }

Status ReaderFile::WriteAt(uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Status(ErrorKind::kIo, said_ + ": cannot write: " + std::strerror(errno));
    }
    offset += static_cast<uint64_t>(got);
    bytes.remove_prefix(static_cast<size_t>(got));
  }
  return Status::Ok();
}

Status ReaderFile::ReplaceEnd(std::string_view end, std::string_view bytes) {
  const uint64_t offset = size_ - end.size();
  const Status status = WriteAt(offset, bytes);
  if (status.ok()) {
    size_ = offset + bytes.size();
    return status;
  }
  // The old end lies on bytes that the file had, so writing it again needs no room.
  static_cast<void>(WriteAt(offset, end));
  if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) return status;
  return status;
}

Status CheckReaderFile(const std::string& variable, const std::string& path) {
  const std::string said = Said(variable, path);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status)) {
    if (!std::filesystem::is_regular_file(status)) return Unusable(said, "is no regular file");
    if (::access(path.c_str(), W_OK) == 0) return Status::Ok();
    return Unusable(said, std::string("cannot write: ") + std::strerror(errno));
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (!std::filesystem::is_directory(folder, error)) {
    return Unusable(said, "there is no folder " + QuoteValue(folder));
  }
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return Status::Ok();
  return Unusable(said, std::string("cannot write: ") + std::strerror(errno));
}

}  // namespace fg
