#include "engine/gguf/file_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/file.h"

namespace fg {

FileSink::FileSink(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".tmp." + std::to_string(::getpid())) {
  status_ = CheckReplaceable(path_);
  if (!status_.ok()) return;
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) status_ = Fail("cannot write");
}

FileSink::~FileSink() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Status FileSink::Write(std::string_view bytes) {
  while (status_.ok() && !bytes.empty()) {
    const ssize_t got = ::write(fd_, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      status_ = Fail("cannot write");
      break;
    }
    written_ += static_cast<uint64_t>(got);
    bytes.remove_prefix(static_cast<size_t>(got));
  }
  return status_;
}

Status FileSink::Commit() {
  FG_RETURN_IF_ERROR(status_);
  if (::fsync(fd_) != 0) return status_ = Fail("cannot sync");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return status_ = Fail("cannot replace");
  ::close(fd_);
  fd_ = -1;
  return Status::Ok();
}

Status FileSink::Fail(const char* doing) {
  return Status(ErrorKind::kIo, path_ + ": " + doing + ": " + std::strerror(errno));
}

}  // namespace fg
