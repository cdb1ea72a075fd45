#include "engine/readers/readers.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "engine/readers/dump_dir.h"
#include "engine/readers/graph_dump.h"
#include "engine/readers/live_view.h"
#include "engine/readers/reader.h"
#include "engine/readers/reader_file.h"
#include "engine/readers/trace.h"

namespace fg {
namespace {

// Hands each node to every reader, in the registry's order of their variables.
class AllReaders : public NodeObserver {
 public:
  explicit AllReaders(std::vector<std::unique_ptr<Reader>> readers)
      : readers_(std::move(readers)) {}

  Status BeginForward(int64_t forward, const Graph& graph, Phase phase) override {
    forward_.emplace(SeenForward{forward, graph, phase, ReaderClock::now()});
    for (const auto& reader : readers_) FG_RETURN_IF_ERROR(reader->Begin(*forward_));
    return Status::Ok();
  }
  Status AfterNode(const NodeRun& run) override {
    SeenNode node(*forward_, run, ReaderClock::now());
    for (const auto& reader : readers_) FG_RETURN_IF_ERROR(reader->After(node));
    return Status::Ok();
  }
  Status EndForward() override {
    const auto now = ReaderClock::now();
    for (const auto& reader : readers_) FG_RETURN_IF_ERROR(reader->End(*forward_, now));
    forward_.reset();
    return Status::Ok();
  }

 private:
  std::vector<std::unique_ptr<Reader>> readers_;
  std::optional<SeenForward> forward_;
};

}  // namespace

Status CheckReaders(const Settings& settings) {
  if (!settings.graph_dump.empty()) {
    FG_RETURN_IF_ERROR(CheckReaderFile("FG_GRAPH_DUMP", settings.graph_dump));
    if (settings.graph_dump == settings.trace) {
      return Status(ErrorKind::kUsage, "FG_GRAPH_DUMP and FG_TRACE name one file, " +
                                           QuoteValue(settings.trace) + "; each needs its own");
    }
  }
  if (!settings.dump_dir.empty()) FG_RETURN_IF_ERROR(CheckDumpDir(settings.dump_dir));
  if (!settings.trace.empty()) FG_RETURN_IF_ERROR(CheckReaderFile("FG_TRACE", settings.trace));
  if (!settings.live.empty()) FG_RETURN_IF_ERROR(ReadPort(settings.live).status());
  return Status::Ok();
}

Status CheckReadersSpare(const Settings& settings, const std::string& model) {
  const std::pair<const char*, const std::string*> files[] = {
      {"FG_GRAPH_DUMP", &settings.graph_dump}, {"FG_TRACE", &settings.trace}};
  for (const auto& [variable, path] : files) {
    std::error_code missing;  // a file that is not there yet is no model
    if (path->empty() || !std::filesystem::equivalent(*path, model, missing)) continue;
    return Status(ErrorKind::kUsage,
                  variable + ("=" + QuoteValue(*path)) + ": is the model itself");
  }
  return Status::Ok();
}

Result<std::unique_ptr<NodeObserver>> MakeReaders(const Settings& settings) {
  FG_RETURN_IF_ERROR(CheckReaders(settings));
  std::vector<std::unique_ptr<Reader>> readers;
  const auto add = [&](const std::string& asked, auto create) {
    if (asked.empty()) return Status::Ok();
    auto reader = create(asked);
    if (reader.ok()) readers.push_back(std::move(*reader));
    return reader.status();
  };
  FG_RETURN_IF_ERROR(add(settings.graph_dump, GraphDump::Create));
  FG_RETURN_IF_ERROR(add(settings.dump_dir, DumpDir::Create));
  FG_RETURN_IF_ERROR(add(settings.trace, Trace::Create));
  FG_RETURN_IF_ERROR(add(settings.live, LiveView::Create));
  if (readers.empty()) return std::unique_ptr<NodeObserver>();
  return std::unique_ptr<NodeObserver>(std::make_unique<AllReaders>(std::move(readers)));
}

}  // namespace fg
