#include "engine/memory_book.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace fg {
namespace {

// Files under /proc have no size, so they are read until they end.
Result<std::string> ReadProcFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return Status(ErrorKind::kIo, path + ": cannot be read");
  std::string text;
  char piece[4096];
  size_t bytes;
  while ((bytes = std::fread(piece, 1, sizeof(piece), file.get())) > 0) text.append(piece, bytes);
  if (std::ferror(file.get()) != 0) return Status(ErrorKind::kIo, path + ": cannot be read");
  return text;
}

// Bytes of the line "KEY:   123 kB".
std::optional<uint64_t> Kilobytes(std::string_view text, std::string_view key) {
  size_t line = 0;
  while (line < text.size()) {
    size_t end = text.find('\n', line);
    if (end == std::string_view::npos) end = text.size();
    std::string_view rest = text.substr(line, end - line);
    line = end + 1;
    if (!rest.starts_with(key)) continue;
    rest.remove_prefix(key.size());
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
    uint64_t value = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (read.ec != std::errc()) return std::nullopt;
    if (std::string_view(read.ptr, rest.data() + rest.size() - read.ptr) != " kB") {
      return std::nullopt;
    }
    return value * 1024;
  }
  return std::nullopt;
}

Status NoLine(const char* path, const char* key) {
  return Status(ErrorKind::kIo, std::string(path) + ": no line '" + key + " N kB'");
}

constexpr char kRollup[] = "/proc/self/smaps_rollup";
constexpr char kStatus[] = "/proc/self/status";

}  // namespace

const char* MemoryCategoryName(MemoryCategory category) {
  switch (category) {
    case MemoryCategory::kWeights:
      return "weights";
    case MemoryCategory::kPlanes:
      return "planes";
    case MemoryCategory::kF16Cache:
      return "f16_cache";
    case MemoryCategory::kKv:
      return "kv";
    case MemoryCategory::kScratch:
      return "scratch";
    case MemoryCategory::kGraph:
      return "graph";
  }
  return "?";
}

void MemoryBook::Add(MemoryCategory category, uint64_t bytes, bool file_backed) {
  Entry& entry = entries_[static_cast<size_t>(category)];
  entry.now += bytes;
  entry.peak = std::max(entry.peak, entry.now);
  entry.file_backed = entry.file_backed || file_backed;
}

void MemoryBook::Remove(MemoryCategory category, uint64_t bytes) {
  Entry& entry = entries_[static_cast<size_t>(category)];
  entry.now -= std::min(bytes, entry.now);
}

Result<SystemMemory> ParseSystemMemory(std::string_view smaps_rollup, std::string_view status) {
  const auto resident = Kilobytes(smaps_rollup, "Rss:");
  if (!resident) return NoLine(kRollup, "Rss:");
  const auto anonymous = Kilobytes(smaps_rollup, "Anonymous:");
  if (!anonymous) return NoLine(kRollup, "Anonymous:");
  const auto peak = Kilobytes(status, "VmHWM:");
  if (!peak) return NoLine(kStatus, "VmHWM:");
  SystemMemory memory;
  memory.anonymous = *anonymous;
  memory.file_backed = *resident - std::min(*anonymous, *resident);
  memory.peak_resident = *peak;
  return memory;
}

Result<SystemMemory> ReadSystemMemory() {
  FG_ASSIGN_OR_RETURN(const std::string rollup, ReadProcFile(kRollup));
  FG_ASSIGN_OR_RETURN(const std::string status, ReadProcFile(kStatus));
  return ParseSystemMemory(rollup, status);
}

}  // namespace fg
