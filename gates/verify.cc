#include "gates/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "base/sha256.h"
#include "gates/archive.h"
#include "gates/summary.h"
#include "gates/waivers.h"

namespace flipgate {
namespace {

using fg::Json;
using fg::Result;

using Failures = std::vector<std::string>;

// Every value that bundle.json derives from its own cells.
void CheckDerived(const Json& json, const Bundle& bundle, Failures* failures) {
  const Json derived = BundleToJson(bundle);
  for (const char* name : {"verdict", "reasons", "counts", "gate_verdicts", "waivers"}) {
    if (json[name] == derived[name]) continue;
    failures->push_back(fmt::format("{}: says {}, the cells give {}", name, json[name].dump(),
                                    derived[name].dump()));
  }
  for (size_t i = 0; i < bundle.cells.size(); ++i) {
    if (json["cells"][i]["waived"] == bundle.Waived(bundle.cells[i])) continue;
    failures->push_back(fmt::format("{}: waived says {}, the waivers say otherwise",
                                    bundle.cells[i].id.Text(), json["cells"][i]["waived"].dump()));
  }
  if (json["content_sha256"] != ContentSum(json)) {
    failures->push_back("content_sha256: is not the sum of the content");
  }
}

void CheckComplete(const Bundle& bundle, Failures* failures) {
  if (!bundle.complete) {
    failures->push_back(fmt::format("complete: the run was cut off with {} cells without a result",
                                    bundle.pending.size()));
  } else if (!bundle.pending.empty()) {
    failures->push_back(
        fmt::format("complete: says true, but {} has no result", bundle.pending[0].Text()));
  }
}

// A pass rests on something that was counted.
bool CountsSomething(const Json& figures) {
  if (figures.is_number()) return figures.get<double>() > 0;
  if (!figures.is_structured()) return false;
  return std::any_of(figures.begin(), figures.end(), CountsSomething);
}

// NaN and infinity become null on the way into JSON.
bool HoldsNull(const Json& figures) {
  if (figures.is_null()) return true;
  if (!figures.is_structured()) return false;
  return std::any_of(figures.begin(), figures.end(), HoldsNull);
}

void CheckRuns(const BundleCell& cell, Failures* failures) {
  const auto fails = std::count(cell.runs.begin(), cell.runs.end(), "fail");
  const bool all = fails == static_cast<std::ptrdiff_t>(cell.runs.size());
  for (const std::string& run : cell.runs) {
    if (!OutcomeOfName(run))
      failures->push_back(fmt::format("{}: runs: unknown word '{}'", cell.id.Text(), run));
  }
  const bool fits = cell.outcome == Outcome::kFail    ? all
                    : cell.outcome == Outcome::kFlaky ? fails > 0 && !all
                                                      : cell.runs.empty();
  if (!fits) {
    failures->push_back(fmt::format("{}: runs: [{}] do not give {}", cell.id.Text(),
                                    fmt::join(cell.runs, ", "), OutcomeName(cell.outcome)));
  }
}

void CheckCell(const BundleCell& cell, Failures* failures) {
  const std::string name = cell.id.Text();
  const bool passed = cell.outcome == Outcome::kPass;
  if (passed && !cell.reason.empty()) failures->push_back(name + ": a pass with a reason");
  if (!passed && cell.reason.empty()) failures->push_back(name + ": no reason why it did not pass");
  if (passed && !CountsSomething(cell.figures))
    failures->push_back(name + ": a pass without a positive count in its figures");
  if (passed && HoldsNull(cell.figures))
    failures->push_back(name + ": a pass with null (a NaN or an infinity) in its figures");
  if (cell.seconds < 0) failures->push_back(name + ": negative seconds");
  CheckRuns(cell, failures);
  for (const AttachmentRecord& record : cell.attachments) {
    if (!IsSum(record.sha256))
      failures->push_back(fmt::format("{}: {}: sha256 is no sum", name, record.name));
  }
}

// Each pair of kind and row stands exactly once: as cells, or as a statement why there are none.
void CheckPairs(const Bundle& bundle, Failures* failures) {
  std::set<std::string> cells, with_cells, stated;
  std::vector<CellId> ids = bundle.pending;
  for (const BundleCell& cell : bundle.cells) ids.push_back(cell.id);
  for (const CellId& id : ids) {
    if (!cells.insert(id.Text()).second) failures->push_back(id.Text() + ": stands twice");
    with_cells.insert(id.kind + "/" + id.gate);
    if (std::find(bundle.rows.begin(), bundle.rows.end(), id.gate) == bundle.rows.end()) {
      failures->push_back(fmt::format("{}: '{}' is none of the rows", id.Text(), id.gate));
    }
  }
  for (const BundlePair& pair : bundle.pairs) {
    const std::string name = pair.kind + "/" + pair.gate;
    if (!stated.insert(name).second) failures->push_back(name + ": stands twice");
    if (with_cells.contains(name))
      failures->push_back(name + ": has cells and a statement why it has none");
    if (pair.status == BundlePair::Status::kNotApplicable && pair.reason.empty())
      failures->push_back(name + ": no reason");
    if (pair.status == BundlePair::Status::kShared &&
        !with_cells.contains(pair.kind + "/" + pair.shared_with)) {
      failures->push_back(
          fmt::format("{}: shared with {}, which has no cell", name, pair.shared_with));
    }
  }
  for (const std::string& kind : KindsOf(bundle)) {
    for (const std::string& row : bundle.rows) {
      const std::string name = kind + "/" + row;
      if (!with_cells.contains(name) && !stated.contains(name))
        failures->push_back(name + ": says nothing");
    }
  }
}

// 2026-11-30T18:06:00Z
bool IsTime(const std::string& text) {
  if (text.size() != 20 || !IsDate(text.substr(0, 10))) return false;
  std::string shape = text.substr(10);
  for (char& c : shape) c = c >= '0' && c <= '9' ? '0' : c;
  return shape == "T00:00:00Z";
}

void CheckHeader(const BundleHeader& header, Failures* failures) {
  if (!IsTime(header.started)) {
    failures->push_back("started: must be a time such as 2026-11-30T18:06:00Z");
  }
  const BundleHashes& hashes = header.hashes;
  for (const auto& [name, sum] : std::map<std::string, std::string>{{"engine", hashes.engine},
                                                                    {"defaults", hashes.defaults},
                                                                    {"suite", hashes.suite},
                                                                    {"matrix", hashes.matrix},
                                                                    {"recipe", hashes.recipe}}) {
    if (!sum.empty() && !IsSum(sum)) failures->push_back(fmt::format("hashes.{}: is no sum", name));
  }
  if (header.snapshot.absent.empty() &&
      (!IsSum(header.snapshot.engine) || !IsSum(header.snapshot.program_sha256))) {
    failures->push_back("snapshot: neither sums nor a word why there is none");
  }
}

void CheckAttachments(const Bundle& bundle, const BundleFiles& files, Failures* failures) {
  std::set<std::string> named;
  for (const BundleCell& cell : bundle.cells) {
    for (const AttachmentRecord& record : cell.attachments) {
      const std::string path = std::string(kRawFolder) + "/" + record.sha256;
      named.insert(path);
      const auto found = files.find(path);
      const std::string name = cell.id.Text() + ": " + record.name;
      if (found == files.end()) {
        failures->push_back(fmt::format("{}: {} is missing", name, path));
      } else if (fg::Sha256Hex(std::string_view(found->second)) != record.sha256) {
        failures->push_back(fmt::format("{}: {} has another sum", name, path));
      } else if (static_cast<int64_t>(found->second.size()) != record.bytes) {
        failures->push_back(fmt::format("{}: {} has {} bytes, not {}", name, path,
                                        found->second.size(), record.bytes));
      }
    }
  }
  for (const auto& [path, bytes] : files) {
    if (path.starts_with(std::string(kRawFolder) + "/") && !named.contains(path)) {
      failures->push_back(path + ": no cell names it");
    }
  }
}

size_t AttachmentCount(const Bundle& bundle) {
  size_t count = 0;
  for (const BundleCell& cell : bundle.cells) count += cell.attachments.size();
  return count;
}

}  // namespace

Verification VerifyFiles(const BundleFiles& files, bool with_files) {
  Verification result;
  const auto json = fg::ParseJson(files.at("bundle.json"), "bundle.json");
  auto bundle = json.ok() ? BundleFromJson(*json) : Result<Bundle>(json.status());
  if (!bundle.ok()) {
    result.failures.push_back(bundle.status().message());
    return result;
  }
  result.bundle = std::move(bundle).value();
  CheckHeader(result.bundle.header, &result.failures);
  CheckComplete(result.bundle, &result.failures);
  for (const BundleCell& cell : result.bundle.cells) CheckCell(cell, &result.failures);
  CheckPairs(result.bundle, &result.failures);
  CheckDerived(*json, result.bundle, &result.failures);
  if (with_files) {
    CheckAttachments(result.bundle, files, &result.failures);
  } else if (const size_t count = AttachmentCount(result.bundle); count > 0) {
    result.notes.push_back(fmt::format(
        "{} attachments are named but not here; give the folder or the archive to check their sums",
        count));
  }
  return result;
}

Result<Verification> VerifyBundle(const std::string& path) {
  Verification result;
  if (std::filesystem::is_directory(path)) {
    const auto files = ReadBundleFolder(path);
    if (!files.ok() && files.status().kind() == fg::ErrorKind::kIo) return files.status();
    if (files.ok()) {
      result = VerifyFiles(*files, true);
    } else {
      result.failures.push_back(files.status().message());
    }
    result.form = "folder";
  } else if (path.ends_with(".tar.gz")) {
    const auto files = ReadArchive(path);
    if (!files.ok() && files.status().kind() == fg::ErrorKind::kIo) return files.status();
    if (files.ok()) {
      result = VerifyFiles(*files, true);
    } else {
      result.failures.push_back(files.status().message());
    }
    result.form = "archive";
  } else {
    auto text = ReadHostileFile(path, kMostIndexBytes);
    if (!text.ok() && text.status().kind() == fg::ErrorKind::kIo) return text.status();
    if (text.ok()) {
      result = VerifyFiles({{"bundle.json", std::move(text).value()}}, false);
    } else {
      result.failures.push_back(text.status().message());
    }
    result.form = "bundle.json alone";
  }
  return result;
}

}  // namespace flipgate
