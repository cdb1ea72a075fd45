#include "gates/node_dump.h"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/sha256.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Status;

fg::Result<DumpedNode> ReadNode(const std::string& folder, const std::string& shown,
                                const Json& line) {
  DumpedNode node;
  node.index = line.value("index", int64_t{-1});
  node.layer = line.value("layer", int64_t{-1});
  node.rows = line.value("rows", int64_t{0});
  node.columns = line.value("columns", int64_t{0});
  node.op = line.value("op", "");
  node.weight = line.value("weight", "");
  node.label = line.value("label", "");
  const std::string file = line.value("file", "");
  node.path = folder + "/" + file;
  if (file.empty() || file.find('/') != std::string::npos) {
    return Status(ErrorKind::kUsage, shown + ": a line names no file beside it");
  }
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(node.path));
  node.sha256 = fg::Sha256Hex(bytes);
  if (node.sha256 != line.value("sha256", "")) {
    return Status(ErrorKind::kUsage,
                  fmt::format("{}: {} has another sum than its line", shown, file));
  }
  if (node.rows <= 0 || node.columns <= 0 ||
      bytes.size() != static_cast<size_t>(node.rows * node.columns) * sizeof(float)) {
    return Status(ErrorKind::kUsage,
                  fmt::format("{}: {} holds {} bytes, which is not [{}][{}] of f32", shown, file,
                              bytes.size(), node.rows, node.columns));
  }
  return node;
}

std::string Named(const std::string& forward, const DumpedNode& node) {
  return fmt::format("{}, node {} ({}{})", forward, node.index, node.op,
                     node.weight.empty() ? "" : " " + node.weight);
}

std::optional<std::string> OtherPlace(const std::string& forward, const DumpedNode& a,
                                      const DumpedNode& b, const std::string& b_name) {
  const bool same_place = a.op == b.op && a.weight == b.weight && a.layer == b.layer &&
                          a.rows == b.rows && a.columns == b.columns;
  if (same_place) return std::nullopt;
  return fmt::format("{} is {} [{}][{}] with {}", Named(forward, a), Named(forward, b), b.rows,
                     b.columns, b_name);
}

std::optional<std::string> OtherBytes(const std::string& forward, const DumpedNode& a,
                                      const std::string& a_name, const DumpedNode& b,
                                      const std::string& b_name) {
  if (a.sha256 == b.sha256) return std::nullopt;
  return fmt::format("{}: the values with {} ({}) are not those with {} ({})", Named(forward, a),
                     b_name, b.label, a_name, a.label);
}

}  // namespace

fg::Result<NodeDump> ReadNodeDump(const std::string& folder) {
  NodeDump dump;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string forward = entry.path().filename().string();
    if (!forward.starts_with("forward-")) continue;
    const std::string shown = forward + "/nodes.jsonl";
    FG_ASSIGN_OR_RETURN(const std::string text,
                        fg::ReadFile(entry.path().string() + "/nodes.jsonl"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      FG_ASSIGN_OR_RETURN(const Json parsed, fg::ParseJson(line, shown));
      FG_ASSIGN_OR_RETURN(DumpedNode node, ReadNode(entry.path().string(), shown, parsed));
      const int64_t index = node.index;
      if (!dump[forward].emplace(index, std::move(node)).second) {
        return Status(ErrorKind::kUsage, fmt::format("{}: node {} stands twice", shown, index));
      }
    }
  }
  if (CountNodes(dump) == 0) return Status(ErrorKind::kUsage, "no node was dumped");
  return dump;
}

std::optional<std::string> PlaceDifference(const NodeDump& a, const std::string& a_name,
                                           const NodeDump& b, const std::string& b_name) {
  for (const auto* side : {&a, &b}) {
    const NodeDump& other = side == &a ? b : a;
    for (const auto& [forward, nodes] : *side) {
      const auto there = other.find(forward);
      for (const auto& [index, node] : nodes) {
        if (there != other.end() && there->second.contains(index)) continue;
        return fmt::format("{} was dumped with {} and not with {}", Named(forward, node),
                           side == &a ? a_name : b_name, side == &a ? b_name : a_name);
      }
    }
  }
  for (const auto& [forward, nodes] : a) {
    for (const auto& [index, node] : nodes) {
      auto difference = OtherPlace(forward, node, b.at(forward).at(index), b_name);
      if (difference) return difference;
    }
  }
  return std::nullopt;
}

std::optional<std::string> DumpDifference(const NodeDump& a, const std::string& a_name,
                                          const NodeDump& b, const std::string& b_name) {
  if (auto difference = PlaceDifference(a, a_name, b, b_name)) return difference;
  for (const auto& [forward, nodes] : a) {
    for (const auto& [index, node] : nodes) {
      auto difference = OtherBytes(forward, node, a_name, b.at(forward).at(index), b_name);
      if (difference) return difference;
    }
  }
  return std::nullopt;
}

int64_t CountNodes(const NodeDump& dump) {
  int64_t count = 0;
  for (const auto& [forward, nodes] : dump) count += static_cast<int64_t>(nodes.size());
  return count;
}

}  // namespace flipgate
