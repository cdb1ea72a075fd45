// bundle.tar.gz: the same bytes for the same files, and a reader that takes nothing on trust.
#pragma once

#include <string>

#include "base/status.h"
#include "gates/bundle_files.h"

namespace flipgate {

// ustar, names sorted, no times, owners or modes of this machine; compressed by the program `gzip`.
fg::Result<std::string> WriteArchive(const BundleFiles& files);
// Writes FOLDER/bundle.tar.gz of the bundle in FOLDER.
fg::Status ArchiveFolder(const std::string& folder);

// Refuses, by name: members that are no regular files, names that no bundle has (so no path leaves
// it), a name twice, a damaged header, more than 256 MiB, what is cut off.
fg::Result<BundleFiles> ReadArchive(const std::string& path);

}  // namespace flipgate
