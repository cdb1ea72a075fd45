#include "gates/bundle_writer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/file.h"
#include "base/sha256.h"
#include "gates/bundle_files.h"
#include "gates/junit.h"
#include "gates/summary.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

// Only files that a bundle has: `out` may be a folder that somebody uses for more.
Status RemoveOldBundle(const std::string& out) {
  std::error_code error;
  const auto remove = [&](const fs::path& path) {
    fs::remove(path, error);
    return error ? Status(ErrorKind::kIo,
                          path.string() + ": cannot remove the old bundle: " + error.message())
                 : Status::Ok();
  };
  for (const char* name : kBundleFiles) FG_RETURN_IF_ERROR(remove(fs::path(out) / name));
  FG_RETURN_IF_ERROR(remove(fs::path(out) / kArchiveName));
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(fs::path(out) / kRawFolder, none)) {
    if (IsSum(entry.path().filename().string())) FG_RETURN_IF_ERROR(remove(entry.path()));
  }
  return Status::Ok();
}

bool ContinuesName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}

// "FOLDER/rest" becomes "rest", FOLDER alone "."; "FOLDER2" is another folder.
std::string Cut(std::string text, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (folder.size() < 2) continue;
    for (size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) {
      const size_t end = at + folder.size();
      if (end < text.size() && ContinuesName(text[end])) {
        at = end;
      } else if (end < text.size() && text[end] == '/') {
        text.erase(at, folder.size() + 1);
      } else {
        text.replace(at, folder.size(), ".");
      }
    }
  }
  return text;
}

void CutStrings(Json* json, const std::vector<std::string>& folders) {
  if (json->is_string()) *json = Cut(json->get<std::string>(), folders);
  if (!json->is_structured()) return;
  for (Json& item : *json) CutStrings(&item, folders);
}

}  // namespace

BundleWriter::BundleWriter(std::string out, Bundle bundle, std::vector<CellId> order)
    : out_(std::move(out)), bundle_(std::move(bundle)), order_(std::move(order)) {}

Result<std::unique_ptr<BundleWriter>> BundleWriter::Create(const std::string& out,
                                                           BundleHeader header,
                                                           const Matrix& matrix,
                                                           std::vector<CellId> cells,
                                                           std::vector<Waiver> waivers) {
  FG_RETURN_IF_ERROR(fg::MakeFolders(out));
  FG_RETURN_IF_ERROR(RemoveOldBundle(out));
  for (Json* json : {&header.device, &header.build, &header.gates})
    CutStrings(json, header.private_folders);
  Bundle bundle;
  bundle.pairs = PairsWithoutCells(matrix, header.hardware_class);
  bundle.rows = matrix.Rows(header.hardware_class);
  bundle.header = std::move(header);
  bundle.pending = cells;
  bundle.waivers = std::move(waivers);
  std::unique_ptr<BundleWriter> writer(new BundleWriter(out, std::move(bundle), std::move(cells)));
  FG_RETURN_IF_ERROR(writer->WriteLocked());
  return writer;
}

Status BundleWriter::Add(const CellId& id, const CellResult& result,
                         std::vector<std::string> runs) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::erase(bundle_.pending, id) != 1) {
    return Status(ErrorKind::kInternal, "the bundle awaits no result of " + id.Text());
  }
  const std::vector<std::string>& folders = bundle_.header.private_folders;
  BundleCell cell{.id = id,
                  .outcome = result.outcome,
                  .category = result.category,
                  .agreement = result.agreement,
                  .reason = Cut(result.reason, folders),
                  .figures = result.figures,
                  .seconds = result.seconds,
                  .labels = result.labels,
                  .attachments = {},
                  .runs = std::move(runs)};
  CutStrings(&cell.figures, folders);
  for (const Attachment& attachment : result.attachments) {
    const std::string bytes = Cut(attachment.bytes, folders);
    const std::string sum = fg::Sha256Hex(std::string_view(bytes));
    FG_RETURN_IF_ERROR(fg::MakeFolders(out_ + "/" + kRawFolder));
    FG_RETURN_IF_ERROR(fg::WriteFileAtomic(out_ + "/" + kRawFolder + "/" + sum, bytes));
    cell.attachments.push_back({attachment.name, sum, static_cast<int64_t>(bytes.size())});
  }
  bundle_.cells.push_back(std::move(cell));
  const auto place = [&](const CellId& cell_id) {
    return std::find(order_.begin(), order_.end(), cell_id);
  };
  std::sort(bundle_.cells.begin(), bundle_.cells.end(),
            [&](const BundleCell& a, const BundleCell& b) { return place(a.id) < place(b.id); });
  return WriteLocked();
}

Status BundleWriter::AddModel(const std::string& name, Json loaded) {
  const std::lock_guard<std::mutex> lock(mutex_);
  CutStrings(&loaded, bundle_.header.private_folders);
  bundle_.header.models[name] = std::move(loaded);
  return WriteLocked();
}

Result<Bundle> BundleWriter::Finish(std::vector<BlindSpot> blind_spots, double seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  bundle_.blind_spots = std::move(blind_spots);
  bundle_.seconds = seconds;
  bundle_.complete = bundle_.pending.empty();
  FG_RETURN_IF_ERROR(fg::WriteFileAtomic(out_ + "/junit.xml", JUnitXml(bundle_)));
  FG_RETURN_IF_ERROR(fg::WriteFileAtomic(out_ + "/summary.md", SummaryMarkdown(bundle_)));
  FG_RETURN_IF_ERROR(WriteLocked());
  return bundle_;
}

Status BundleWriter::WriteLocked() {
  const std::string text =
      BundleToJson(bundle_).dump(1, ' ', false, Json::error_handler_t::replace);
  return fg::WriteFileAtomic(out_ + "/bundle.json", text + "\n");
}

}  // namespace flipgate
