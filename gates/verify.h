// Holds a bundle against itself: schema, sums, counts, and the verdict recomputed from its cells.
// Trusts nothing in it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "gates/bundle.h"
#include "gates/bundle_files.h"

namespace flipgate {

struct Verification {
  std::vector<std::string> failures;  // each names what is wrong; empty: the bundle is intact
  std::vector<std::string> notes;     // what was not checked, and why
  Bundle bundle;                      // as far as it could be read
  std::string form;                   // "folder", "archive" or "bundle.json alone"
};

// PATH is a folder, an archive (*.tar.gz) or a bundle.json. kIo when it cannot be read. A damaged
// bundle is no error: it is a failure of the verification.
fg::Result<Verification> VerifyBundle(const std::string& path);

// The same on files in memory; without `with_files` the attachments are only named, not checked.
Verification VerifyFiles(const BundleFiles& files, bool with_files);

}  // namespace flipgate
