#include "engine/probe/line_io.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fg {

Status LineReader::Fill() {
  buffer_.erase(0, start_);
  start_ = 0;
  char piece[1 << 16];
  for (;;) {
    const ssize_t got = ::read(descriptor_, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return Status(ErrorKind::kIo, std::string("standard input: ") + std::strerror(errno));
    ended_ = got == 0;
    buffer_.append(piece, static_cast<size_t>(got));
    return Status::Ok();
  }
}

Result<LineReader::Event> LineReader::Next(std::string* line) {
  bool too_long = false;
  size_t searched = start_;  // no newline lies before it
  for (;;) {
    const size_t newline = buffer_.find('\n', searched);
    const bool whole = newline != std::string::npos;
    const size_t end = whole ? newline : buffer_.size();
    too_long = too_long || end - start_ > limit_;
    if (whole || (ended_ && (end > start_ || too_long))) {
      line->clear();
      if (!too_long) line->assign(buffer_, start_, end - start_);
      if (line->ends_with('\r')) line->pop_back();
      start_ = whole ? newline + 1 : end;
      return too_long ? Event::kTooLong : Event::kLine;
    }
    if (ended_) return Event::kEnd;
    if (too_long) start_ = buffer_.size();  // what is skipped need not be kept
    searched = buffer_.size() - start_;
    FG_RETURN_IF_ERROR(Fill());
  }
}

Status WriteLine(int descriptor, std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return Status(ErrorKind::kIo, std::string("standard output: ") + std::strerror(errno));
    rest.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

}  // namespace fg
