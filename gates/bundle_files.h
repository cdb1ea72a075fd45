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

// The bundle's files that lie in a folder; other files there are not its own. kIo without a
// bundle.json.
fg::Result<BundleFiles> ReadBundleFolder(const std::string& folder);

}  // namespace flipgate
