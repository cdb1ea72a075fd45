// A file that is written piece by piece and appears whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fg {

// Writes PATH.tmp.PID; Commit() renames it over PATH, the destructor removes what was not
// committed. The first failure, kIo with PATH and the system's reason, stays: later calls repeat
// it.
class FileSink {
 public:
  explicit FileSink(std::string path);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  Status Write(std::string_view bytes);
  // Syncs and renames. Nothing may be written afterwards.
  Status Commit();
  uint64_t written() const { return written_; }  // bytes

 private:
  Status Fail(const char* doing);

  std::string path_, temporary_;
  int fd_ = -1;
  uint64_t written_ = 0;
  Status status_;
};

}  // namespace fg
