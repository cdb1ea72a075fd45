#include "gates/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <functional>
#include <istream>
#include <sstream>

#include "base/file.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Result;
using fg::Status;

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostNodes = 10000;
constexpr size_t kMostLineShown = 160;

// Thrown through yaml-cpp's callbacks, caught in Parse.
struct Refusal {
  YamlMark mark;
  std::string message;
};

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The text by one-based lines, without their ends.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') starts_.push_back(i + 1);
    }
  }

  std::string_view operator[](int line) const {
    if (line < 1 || static_cast<size_t>(line) > starts_.size()) return "";
    const size_t start = starts_[static_cast<size_t>(line) - 1];
    std::string_view found = text_.substr(start, text_.find('\n', start) - start);
    if (found.ends_with('\r')) found.remove_suffix(1);
    return found;
  }

 private:
  std::string_view text_;
  std::vector<size_t> starts_ = {0};
};

YamlMark MarkOfOffset(std::string_view text, size_t offset) {
  YamlMark mark;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++mark.line;
      mark.column = 1;
    } else if (!IsContinuation(text[i])) {
      ++mark.column;
    }
  }
  return mark;
}

// yaml-cpp counts lines and columns from 0, columns in bytes.
YamlMark FromLibrary(const YAML::Mark& mark, const Lines& lines) {
  if (mark.line < 0) return {};
  const std::string_view line = lines[mark.line + 1];
  const std::string_view before = line.substr(0, static_cast<size_t>(std::max(mark.column, 0)));
  const auto characters = std::count_if(before.begin(), before.end(), std::not_fn(IsContinuation));
  return {mark.line + 1, static_cast<int>(characters) + 1};
}

// Length of the well-formed UTF-8 sequence at `offset`, 0 for none (overlong forms and surrogates
// included).
size_t SequenceLength(std::string_view text, size_t offset) {
  const auto byte = [&](size_t i) -> unsigned {
    return offset + i < text.size() ? static_cast<unsigned char>(text[offset + i]) : 0;
  };
  const auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool low = lead != 0xE0 || byte(1) >= 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return tail(1) && tail(2) && low && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool low = lead != 0xF0 || byte(1) >= 0x90;
    const bool high = lead == 0xF4 && byte(1) >= 0x90;
    return tail(1) && tail(2) && tail(3) && low && !high ? 4 : 0;
  }
  return 0;
}

// What no reader after this one should have to think of.
void CheckBytes(std::string_view text) {
  if (text.size() > kMostBytes) throw Refusal{{}, "the file is larger than 1 MiB"};
  const std::string_view start = text.substr(0, 2);
  if (text.starts_with("\xEF\xBB\xBF") || start == "\xFF\xFE" || start == "\xFE\xFF") {
    throw Refusal{{}, "the file begins with a byte order mark; save it as plain UTF-8"};
  }
  for (size_t i = 0; i < text.size();) {
    const size_t length = SequenceLength(text, i);
    if (length == 0) throw Refusal{MarkOfOffset(text, i), "a byte that is not UTF-8"};
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\t') throw Refusal{MarkOfOffset(text, i), "a tab; use spaces"};
    const bool line_end = byte == '\n' || (byte == '\r' && text.substr(i + 1, 1) == "\n");
    if ((byte < 0x20 && !line_end) || byte == 0x7F) {
      throw Refusal{MarkOfOffset(text, i), "a control character"};
    }
    i += length;
  }
}

class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const Lines& lines) : lines_(lines) {}

  YamlNode root;
  bool seen_document = false;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (seen_document) Refuse(mark, "a second document; one file holds one");
    seen_document = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    const YamlMark place =
        open_.empty() || !open_.back().key ? FromLibrary(mark, lines_) : open_.back().key_mark;
    throw Refusal{place, "an empty value; write one, or leave the key out"};
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "an alias; write the value out");
  }

  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    Refuse(mark, "an anchor; write each value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Check(mark, tag, anchor);
    YamlNode node{.kind = YamlNode::Kind::kScalar,
                  .mark = FromLibrary(mark, lines_),
                  .scalar = value,
                  .items = {},
                  .entries = {}};
    if (ExpectsKey()) return TakeKey(std::move(node));
    Place(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

 private:
  struct Level {
    YamlNode node;
    bool key = false;  // a key was read whose value is to come
    std::string key_text;
    YamlMark key_mark;
  };

  [[noreturn]] void Refuse(const YAML::Mark& mark, const std::string& message) {
    throw Refusal{FromLibrary(mark, lines_), message};
  }

  void Check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) Refuse(mark, "an anchor; write each value out");
    // "?" and "!" are what the library gives to untagged plain and quoted scalars.
    if (!tag.empty() && tag != "?" && tag != "!")
      Refuse(mark, "a tag; a value's type comes from its place");
    if (++nodes_ > kMostNodes) Refuse(mark, "more than 10,000 nodes");
  }

  bool ExpectsKey() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::kMap && !open_.back().key;
  }

  void TakeKey(YamlNode key) {
    if (key.scalar.empty()) throw Refusal{key.mark, "an empty key"};
    if (key.scalar == "<<") throw Refusal{key.mark, "a merge key; write the entries out"};
    Level& level = open_.back();
    for (const YamlNode::Entry& entry : level.node.entries) {
      if (entry.key != key.scalar) continue;
      throw Refusal{key.mark, "the key '" + key.scalar + "' stands twice; first on line " +
                                  std::to_string(entry.mark.line)};
    }
    level.key = true;
    level.key_text = key.scalar;
    level.key_mark = key.mark;
  }

  void Place(YamlNode node) {
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Level& level = open_.back();
    if (level.node.kind == YamlNode::Kind::kSequence) {
      level.node.items.push_back(std::move(node));
    } else {
      level.node.entries.push_back({level.key_text, level.key_mark, std::move(node)});
      level.key = false;
    }
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    Check(mark, tag, anchor);
    if (ExpectsKey()) Refuse(mark, "a key must be plain text");
    Level level;
    level.node.kind = kind;
    level.node.mark = FromLibrary(mark, lines_);
    open_.push_back(std::move(level));
  }

  void Close() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    Place(std::move(node));
  }

  const Lines& lines_;
  std::vector<Level> open_;
  size_t nodes_ = 0;
};

YamlNode BuildTree(const std::string& text) {
  CheckBytes(text);
  std::istringstream stream(text);
  const Lines lines(text);
  TreeBuilder builder(lines);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw Refusal{FromLibrary(error.mark, lines), error.msg};
  }
  if (!builder.seen_document) throw Refusal{{}, "the file holds nothing"};
  return std::move(builder.root);
}

// Fit to be shown above a caret: well-formed and without control characters (tabs are shown as
// spaces).
bool Printable(std::string_view line) {
  for (size_t i = 0; i < line.size();) {
    const size_t length = SequenceLength(line, i);
    const auto byte = static_cast<unsigned char>(line[i]);
    if (length == 0 || (byte < 0x20 && byte != '\t') || byte == 0x7F) return false;
    i += length;
  }
  return !line.empty() && line.size() <= kMostLineShown;
}

}  // namespace

Result<YamlDocument> YamlDocument::Parse(std::string text, std::string file_name) {
  YamlDocument document;
  document.text_ = std::move(text);
  document.file_name_ = std::move(file_name);
  try {
    document.root_ = BuildTree(document.text_);
  } catch (const Refusal& refusal) {
    return document.Error(refusal.mark, refusal.message);
  }
  return document;
}

Result<YamlDocument> YamlDocument::Load(const std::string& path, std::string file_name) {
  FG_ASSIGN_OR_RETURN(std::string text, fg::ReadFile(path));
  return Parse(std::move(text), file_name.empty() ? path : std::move(file_name));
}

Status YamlDocument::Error(YamlMark mark, const std::string& message) const {
  std::string shown = file_name_ + ":" + std::to_string(mark.line) + ":" +
                      std::to_string(mark.column) + ": " + message;
  const std::string_view line = Lines(text_)[mark.line];
  if (Printable(line)) {
    std::string flat(line);
    std::replace(flat.begin(), flat.end(), '\t', ' ');
    shown += "\n  " + flat + "\n  " + std::string(static_cast<size_t>(mark.column - 1), ' ') + "^";
  }
  return Status(ErrorKind::kUsage, shown);
}

}  // namespace flipgate
