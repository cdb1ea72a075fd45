#include "gates/bundle_files.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"

namespace flipgate {

namespace fs = std::filesystem;
using fg::Result;

bool IsSum(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<BundleFiles> ReadBundleFolder(const std::string& folder) {
  BundleFiles files;
  FG_ASSIGN_OR_RETURN(files["bundle.json"], fg::ReadFile(folder + "/bundle.json"));
  for (const char* name : kBundleFiles) {
    if (!fs::exists(fs::path(folder) / name)) continue;
    FG_ASSIGN_OR_RETURN(files[name], fg::ReadFile(folder + "/" + name));
  }
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(fs::path(folder) / kRawFolder, none)) {
    const std::string name = std::string(kRawFolder) + "/" + entry.path().filename().string();
    FG_ASSIGN_OR_RETURN(files[name], fg::ReadFile(entry.path().string()));
  }
  return files;
}

}  // namespace flipgate
