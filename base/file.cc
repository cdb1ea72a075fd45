#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace fg {
namespace {

Status IoError(const std::string& path, const char* doing) {
  const std::string reason = std::strerror(errno);
  return Status(ErrorKind::kIo, path + ": " + (*doing ? std::string(doing) + ": " : "") + reason);
}

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<size_t> RegularFileSize(const Descriptor& fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return IoError(path, "");
  if (!S_ISREG(info.st_mode)) return Status(ErrorKind::kIo, path + ": not a regular file");
  return static_cast<size_t>(info.st_size);
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return IoError(path, "cannot write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return ::fsync(fd) == 0 ? Status::Ok() : IoError(path, "cannot sync");
}

}  // namespace

Status CheckReplaceable(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Status::Ok();
  return Status(ErrorKind::kIo, path + ": is no regular file and stays as it is");
}

// O_NONBLOCK: a FIFO would hold the open for ever before it can be refused.
Result<std::string> ReadFile(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return IoError(path, "");
  FG_ASSIGN_OR_RETURN(const size_t size, RegularFileSize(fd, path));
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return IoError(path, "cannot read");
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Status WriteFileAtomic(const std::string& path, std::string_view bytes) {
  FG_RETURN_IF_ERROR(CheckReplaceable(path));
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  Status status;
  {
    const Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) return IoError(path, "cannot write");
    status = WriteAll(fd.get(), bytes, path);
  }
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = IoError(path, "cannot replace");
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

Status MakeFolders(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return Status(ErrorKind::kIo, path + ": cannot make the folder: " + error.message());
  return Status::Ok();
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return IoError(path, "");
  FG_ASSIGN_OR_RETURN(const size_t size, RegularFileSize(fd, path));
  MappedFile file;
  if (size == 0) return file;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) return IoError(path, "cannot map");
  file.data_ = static_cast<const std::byte*>(data);
  file.size_ = size;
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace fg
