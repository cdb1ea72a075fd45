#include "promotion/progress.h"

#include <fmt/format.h>

namespace flipgate {
namespace {

Terminal::Tone ToneOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return Terminal::Tone::kGood;
    case Outcome::kFail:
    case Outcome::kFlaky:
    case Outcome::kError:
      return Terminal::Tone::kBad;
    case Outcome::kSkipped:
    case Outcome::kUnsupported:
      break;
  }
  return Terminal::Tone::kDoubtful;
}

}  // namespace

void Progress::Clear() {
  if (open_) *stream_ << "\r\033[K";
  open_ = false;
}

void Progress::Cell(const CellId& id, const CellResult& result, size_t done, size_t total) {
  if (quiet_) return;
  Clear();
  const bool passed = result.outcome == Outcome::kPass;
  if (terminal_.live && passed) {
    *stream_ << fmt::format("[{}/{}] {}", done, total, id.Text()) << std::flush;
    open_ = true;
    return;
  }
  // Whatever did not pass stays on the screen.
  const std::string word = fmt::format("{:11}", OutcomeName(result.outcome));
  *stream_ << fmt::format("[{}/{}] {} {} {:.2f} s{}{}\n", done, total,
                          terminal_.Painted(word, ToneOf(result.outcome)), id.Text(),
                          result.seconds, result.reason.empty() ? "" : ": ", result.reason)
           << std::flush;
}

void Progress::Note(const std::string& line) {
  if (quiet_) return;
  Clear();
  *stream_ << line << "\n" << std::flush;
}

void Progress::End() { Clear(); }

}  // namespace flipgate
