#include "engine/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <sstream>

namespace fg {
namespace {

constexpr size_t kMaxNodes = 10000;
constexpr size_t kMaxDepth = 64;

struct Refusal {
  YAML::Mark mark;
  std::string message;
};

// Builds the tree bottom-up: open collections on a stack, finished nodes put into the top one.
class TreeBuilder : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw Refusal{mark, "a second document is not allowed"};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Put(Start(mark, "", anchor, YamlTree::Kind::kScalar));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{mark, "aliases are not allowed"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlTree node = Start(mark, tag, anchor, YamlTree::Kind::kScalar);
    node.text = value;
    Put(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Start(mark, tag, anchor, YamlTree::Kind::kList));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Start(mark, tag, anchor, YamlTree::Kind::kMap));
  }
  void OnMapEnd() override { Close(); }

  YamlTree root;

 private:
  struct Frame {
    YamlTree node;
    bool has_key = false;
    YamlTree key;
  };

  YamlTree Start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                 YamlTree::Kind kind) {
    if (anchor != 0) throw Refusal{mark, "anchors are not allowed"};
    // "?" is a plain node, "!" a quoted scalar.
    if (!tag.empty() && tag != "?" && tag != "!") throw Refusal{mark, "tags are not allowed"};
    if (++nodes_ > kMaxNodes) throw Refusal{mark, "more than 10000 nodes"};
    YamlTree node;
    node.kind = kind;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void Open(YamlTree node) {
    if (stack_.size() >= kMaxDepth) throw Refusal{MarkOf(node), "nested more than 64 deep"};
    stack_.push_back({std::move(node), false, {}});
  }

  void Close() {
    YamlTree node = std::move(stack_.back().node);
    stack_.pop_back();
    Put(std::move(node));
  }

  void Put(YamlTree node) {
    if (stack_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlTree::Kind::kList) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      if (node.kind != YamlTree::Kind::kScalar) throw Refusal{MarkOf(node), "a key must be a word"};
      if (const YamlTree* first = frame.node.Find(node.text)) {
        (void)first;
        throw Refusal{MarkOf(node), "duplicate key '" + node.text + "'"};
      }
      frame.key = std::move(node);
      frame.has_key = true;
    } else {
      frame.node.entries.emplace_back(std::move(frame.key), std::move(node));
      frame.has_key = false;
    }
  }

  static YAML::Mark MarkOf(const YamlTree& node) {
    YAML::Mark mark;
    mark.line = node.line - 1;
    mark.column = node.column - 1;
    return mark;
  }

  int documents_ = 0;
  size_t nodes_ = 0;
  std::vector<Frame> stack_;
};

Status At(const std::string& path, const YAML::Mark& mark, const std::string& message) {
  YamlTree at;
  at.line = mark.line + 1;
  at.column = mark.column + 1;
  return YamlError(path, at, message);
}

}  // namespace

const YamlTree* YamlTree::Find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

Status YamlError(const std::string& path, const YamlTree& at, const std::string& message) {
  return Status(ErrorKind::kUsage, path + ":" + std::to_string(at.line) + ":" +
                                       std::to_string(at.column) + ": " + message);
}

Result<YamlTree> ParseYamlTree(const std::string& path, std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    return YamlError(path, YamlTree(), "a byte-order mark is not allowed");
  }
  TreeBuilder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Refusal& refusal) {
    return At(path, refusal.mark, refusal.message);
  } catch (const YAML::Exception& error) {
    return At(path, error.mark, error.msg);
  }
  return std::move(builder.root);
}

}  // namespace fg
