// Writes a bundle as its results come. After each cell bundle.json is replaced atomically with
// `complete: false`, so that a run that is cut off leaves what it found.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/bundle.h"

namespace flipgate {

class BundleWriter {
 public:
  // Removes an older bundle's files from `out` (only names that a bundle has), makes the folder and
  // writes the first bundle.json, all `cells` pending. kIo names the path, as for a folder that
  // cannot be written.
  static fg::Result<std::unique_ptr<BundleWriter>> Create(const std::string& out,
                                                          BundleHeader header, const Matrix& matrix,
                                                          std::vector<CellId> cells,
                                                          std::vector<Waiver> waivers);

  // Stores attachments under raw/ and books the cell. `runs` holds the outcomes of all runs of a
  // cell that was run again, else it is empty. From any thread.
  fg::Status Add(const CellId& id, const CellResult& result, std::vector<std::string> runs = {});
  // Adds what load answered of a model. From any thread.
  fg::Status AddModel(const std::string& name, fg::Json loaded);
  // Writes the whole bundle: complete when no cell is pending; junit.xml and summary.md beside it.
  // Call once.
  fg::Result<Bundle> Finish(std::vector<BlindSpot> blind_spots, double seconds);

 private:
  BundleWriter(std::string out, Bundle bundle, std::vector<CellId> order);
  fg::Status WriteLocked();

  std::mutex mutex_;
  const std::string out_;
  Bundle bundle_;
  const std::vector<CellId> order_;
};

}  // namespace flipgate
