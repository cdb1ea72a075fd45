// Files: whole reads, atomic replacement, read-only mappings.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fg {

// All bytes of a regular file. kIo names the path and the system's reason.
Result<std::string> ReadFile(const std::string& path);

// Writes PATH.tmp.PID, syncs and renames it over PATH, so that a reader sees the old bytes or the
// new ones and never a part. kIo names the path; the temporary file is removed on failure.
// A PATH that is something else than a regular file (a device, a folder, a link to one) is refused:
// a rename would put a file in its place.
Status WriteFileAtomic(const std::string& path, std::string_view bytes);

// Ok where `path` does not exist or is a regular file itself, no link; else kIo "PATH: is no
// regular file and stays as it is".
Status CheckReplaceable(const std::string& path);

// Creates a folder and its parents. kIo names it.
Status MakeFolders(const std::string& path);

// A read-only private mapping of a file. Move-only; the bytes live as long as the object.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace fg
