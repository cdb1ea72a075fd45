#include "gates/bundle_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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

Result<std::string> ReadHostileFile(const std::string& path, size_t most) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) {
    return fg::Status(fg::ErrorKind::kIo, path + ": " + std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return fg::Status(fg::ErrorKind::kRefused,
                      path + (S_ISLNK(info.st_mode) ? ": is a link" : ": is no regular file"));
  }
  if (static_cast<uint64_t>(info.st_size) > most) {
    return fg::Status(fg::ErrorKind::kRefused, fmt::format("{}: {} bytes, more than the {} allowed",
                                                           path, info.st_size, most));
  }
  return fg::ReadFile(path);
}

Result<BundleFiles> ReadBundleFolder(const std::string& folder) {
  BundleFiles files;
  size_t left = kMostBundleBytes;
  const auto read = [&](const std::string& name, size_t most) -> fg::Status {
    auto bytes = ReadHostileFile(folder + "/" + name, std::min(most, left));
    if (!bytes.ok()) return bytes.status();
    left -= bytes->size();
    files[name] = std::move(bytes).value();
    return fg::Status::Ok();
  };
  FG_RETURN_IF_ERROR(read("bundle.json", kMostIndexBytes));
  for (const std::string name : kBundleFiles) {
    const bool there = fs::exists(fs::symlink_status(fs::path(folder) / name));
    if (there && name != "bundle.json") FG_RETURN_IF_ERROR(read(name, left));
  }
  const fs::path raw = fs::path(folder) / kRawFolder;
  if (fs::is_symlink(raw)) return fg::Status(fg::ErrorKind::kRefused, raw.string() + ": is a link");
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(raw, none)) {
    const std::string name = std::string(kRawFolder) + "/" + entry.path().filename().string();
    FG_RETURN_IF_ERROR(read(name, left));
  }
  return files;
}

}  // namespace flipgate
