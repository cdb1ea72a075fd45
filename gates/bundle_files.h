// The files of a bundle, as a folder, as an archive, or as bundle.json alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace flipgate {

inline constexpr const char* kBundleFiles[] = {"bundle.json", "junit.xml", "summary.md",
                                               "report.html"};
inline constexpr const char* kArchiveName = "bundle.tar.gz";
inline constexpr const char* kRawFolder = "raw";

// 64 lower-case hexadecimal digits.
bool IsSum(const std::string& text);

// Name within the bundle ("bundle.json", "raw/SUM") -> bytes.
using BundleFiles = std::map<std::string, std::string>;

// Most bytes of one bundle, and of its bundle.json alone.
inline constexpr size_t kMostBundleBytes = size_t{256} << 20;
inline constexpr size_t kMostIndexBytes = size_t{32} << 20;

// Bytes of a file that somebody else may have made. kIo where it cannot be read; kRefused names a
// link, anything else that is no regular file, and more than `most` bytes.
fg::Result<std::string> ReadHostileFile(const std::string& path, size_t most);

// The bundle's files that lie in a folder; other files there are not its own. kIo without a
// bundle.json; kRefused as above, and for more than kMostBundleBytes in all.
fg::Result<BundleFiles> ReadBundleFolder(const std::string& folder);

}  // namespace flipgate
