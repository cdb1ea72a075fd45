// A file that a reader writes as it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fg {

class ReaderFile {
 public:
  // Makes `path`, or empties the regular file that is there. kUsage "FG_TRACE='PATH': reason": it
  // cannot be written, is no regular file, or another process is writing it. `variable` names the
  // setting in every message.
  static Result<std::unique_ptr<ReaderFile>> Create(const std::string& variable,
                                                    const std::string& path);
  ~ReaderFile();
  ReaderFile(const ReaderFile&) = delete;
  ReaderFile& operator=(const ReaderFile&) = delete;

  // Writes behind the last byte. After a failure (kIo) the file is as it was before the call.
  Status Append(std::string_view bytes) { return ReplaceEnd("", bytes); }
  // Writes `bytes` in one piece over the file's end, which is `end`.
  Status ReplaceEnd(std::string_view end, std::string_view bytes);

 private:
  ReaderFile(std::string said, int fd) : said_(std::move(said)), fd_(fd) {}
  Status WriteAt(uint64_t offset, std::string_view bytes);

  std::string said_;  // "FG_TRACE='PATH'"
  int fd_;
  uint64_t size_ = 0;
};

// kUsage as Create would say, without making or changing anything.
Status CheckReaderFile(const std::string& variable, const std::string& path);

}  // namespace fg
