// The project's own files, for the structural tests.
#pragma once

#include <string>
#include <vector>

namespace fg {

struct SourceFile {
  std::string path;  // from the root, "engine/gates.cc"
  std::string text;
};

// All files below the project's code folders whose name ends in one of `endings`, sorted by path.
std::vector<SourceFile> SourceFiles(const std::vector<std::string>& endings);

// The repo-relative includes ("...") of a C++ file.
std::vector<std::string> QuotedIncludes(const SourceFile& file);

// First folder of a path: "engine" of "engine/gates.cc".
std::string TopFolder(const std::string& path);

}  // namespace fg
