// StreamDecoder of tokenizer.h.
#include "engine/tokenizer/tokenizer.h"
#include "engine/tokenizer/utf8.h"

namespace fg {

std::string StreamDecoder::Push(int32_t id) {
  held_ += tokenizer_.Piece(id);
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const Utf8Unit unit = NextUtf8(rest);
    if (unit.kind == Utf8Unit::kCut) break;
    out += unit.kind == Utf8Unit::kValid ? rest.substr(0, unit.bytes) : kReplacement;
    rest.remove_prefix(unit.bytes);
  }
  held_.erase(0, held_.size() - rest.size());
  return out;
}

std::string StreamDecoder::Finish() {
  // What is held begins one character: one maximal subpart.
  const bool cut = !held_.empty();
  held_.clear();
  return cut ? std::string(kReplacement) : "";
}

}  // namespace fg
