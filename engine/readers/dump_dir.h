// FG_DUMP_DIR: every node's values as files, a folder a forward.
#pragma once

#include <memory>
#include <string>

#include "engine/readers/reader.h"
#include "engine/readers/reader_file.h"

namespace fg {

class DumpDir : public Reader {
 public:
  // Makes `folder` where it is missing. kUsage where it holds something already: nothing is ever
  // overwritten. Layout: docs/readers.md.
  static Result<std::unique_ptr<Reader>> Create(const std::string& folder);

  Status Begin(const SeenForward& forward) override;
  Status After(SeenNode& node) override;
  Status End(const SeenForward& forward, ReaderClock::time_point now) override;

 private:
  explicit DumpDir(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
  std::string forward_;                // of the forward that runs
  std::unique_ptr<ReaderFile> table_;  // its nodes.jsonl
};

// kUsage as Create would say, without making anything.
Status CheckDumpDir(const std::string& folder);

}  // namespace fg
