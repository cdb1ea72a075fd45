#include "engine/readers/dump_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "engine/gates_settings.h"

namespace fg {
namespace {

constexpr const char* kVariable = "FG_DUMP_DIR";

Status Failed(ErrorKind kind, const std::string& path, const std::string& reason) {
  return Status(kind, std::string(kVariable) + "=" + QuoteValue(path) + ": " + reason);
}

// O_EXCL: whatever has come there meanwhile stays.
Status WriteNew(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return Failed(ErrorKind::kIo, path, std::strerror(errno));
  Status status;
  while (status.ok() && !bytes.empty()) {
    const ssize_t got = ::write(fd, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      status = Failed(ErrorKind::kIo, path, std::string("cannot write: ") + std::strerror(errno));
    } else {
      bytes.remove_prefix(static_cast<size_t>(got));
    }
  }
  ::close(fd);
  if (!status.ok()) ::unlink(path.c_str());
  return status;
}

}  // namespace

Status CheckDumpDir(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error)) {
    if (!std::filesystem::is_directory(folder, error)) {
      return Failed(ErrorKind::kUsage, folder, "is no folder");
    }
    const bool empty = std::filesystem::is_empty(folder, error);
    if (error) return Failed(ErrorKind::kUsage, folder, "cannot read: " + error.message());
    if (!empty) {
      return Failed(ErrorKind::kUsage, folder,
                    "the folder is not empty, and nothing in it is overwritten; name another");
    }
  }
  std::filesystem::path there = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) {
    there = there.parent_path();
  }
  if (!std::filesystem::is_directory(there, error)) {
    return Failed(ErrorKind::kUsage, folder, QuoteValue(there.string()) + " is no folder");
  }
  if (::access(there.c_str(), W_OK | X_OK) == 0) return Status::Ok();
  return Failed(ErrorKind::kUsage, folder, std::string("cannot write: ") + std::strerror(errno));
}

Result<std::unique_ptr<Reader>> DumpDir::Create(const std::string& folder) {
  FG_RETURN_IF_ERROR(CheckDumpDir(folder));
  const Status made = MakeFolders(folder);
  if (!made.ok()) return Failed(ErrorKind::kUsage, folder, made.message());
  return std::unique_ptr<Reader>(new DumpDir(folder));
}

Status DumpDir::Begin(const SeenForward& forward) {
  forward_ = fmt::format("{}/forward-{:06}", folder_, forward.index);
  std::error_code error;
  if (!std::filesystem::create_directory(forward_, error)) {
    return Failed(ErrorKind::kIo, forward_, error ? error.message() : "is there already");
  }
  auto table = ReaderFile::Create(kVariable, forward_ + "/nodes.jsonl");
  if (!table.ok()) return Status(ErrorKind::kIo, table.status().message());
  table_ = std::move(*table);
  return Status::Ok();
}

// The values first: a line of the table speaks of a file that is whole.
Status DumpDir::After(SeenNode& node) {
  if (!node.has_values()) return Status::Ok();
  const std::string file =
      fmt::format("{:04}-{}.bin", node.run().index, GraphOpName(node.node().op));
  FG_RETURN_IF_ERROR(WriteNew(forward_ + "/" + file,
                              {reinterpret_cast<const char*>(node.run().values), node.bytes()}));
  return table_->Append(JsonLine({{"index", node.run().index},
                                  {"op", GraphOpName(node.node().op)},
                                  {"weight", node.node().weight},
                                  {"layer", LayerOfNode(node.node())},
                                  {"rows", node.node().rows},
                                  {"columns", node.node().columns},
                                  {"label", node.run().label},
                                  {"file", file},
                                  {"sha256", node.sha256()}}));
}

Status DumpDir::End(const SeenForward&, ReaderClock::time_point) {
  table_.reset();
  return Status::Ok();
}

}  // namespace fg
