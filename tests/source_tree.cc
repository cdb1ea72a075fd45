#include "tests/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/file.h"

namespace fg {
namespace {

constexpr const char* kFolders[] = {"base",      "kernels", "engine",   "gates",
                                    "promotion", "reports", "fixtures", "tests"};

bool EndsWithAny(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const std::string& ending) { return name.ends_with(ending); });
}

}  // namespace

std::vector<SourceFile> SourceFiles(const std::vector<std::string>& endings) {
  namespace fs = std::filesystem;
  const fs::path root = FG_SOURCE_DIR;
  std::vector<SourceFile> files;
  for (const char* folder : kFolders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).string();
      if (!entry.is_regular_file() || !EndsWithAny(path, endings)) continue;
      auto text = ReadFile(entry.path().string());
      if (text.ok()) files.push_back({path, *text});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::vector<std::string> QuotedIncludes(const SourceFile& file) {
  static const std::string kStart = "#include \"";
  std::vector<std::string> includes;
  std::istringstream lines(file.text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kStart)) continue;
    const size_t end = line.find('"', kStart.size());
    if (end != std::string::npos) {
      includes.push_back(line.substr(kStart.size(), end - kStart.size()));
    }
  }
  return includes;
}

std::string TopFolder(const std::string& path) { return path.substr(0, path.find('/')); }

}  // namespace fg
