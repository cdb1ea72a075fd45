// FG_TRACE: Chrome trace events, an event a line.
#pragma once

#include <memory>
#include <string>

#include "engine/readers/reader.h"
#include "engine/readers/reader_file.h"

namespace fg {

// The file is a whole JSON array after every event: each is written in one piece over the bracket
// that closes it, so a process that dies leaves a trace that loads. Format: docs/readers.md.
class Trace : public Reader {
 public:
  static Result<std::unique_ptr<Reader>> Create(const std::string& path);

  Status Begin(const SeenForward& forward) override;
  Status After(SeenNode& node) override;
  Status End(const SeenForward& forward, ReaderClock::time_point now) override;

 private:
  explicit Trace(std::unique_ptr<ReaderFile> file) : file_(std::move(file)) {}
  Status Say(const Json& event);
  double Microseconds(ReaderClock::time_point time) const;

  std::unique_ptr<ReaderFile> file_;
  ReaderClock::time_point start_ = ReaderClock::now();
  bool empty_ = true;
};

}  // namespace fg
