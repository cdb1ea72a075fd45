#include "gates/runner.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/nearest.h"
#include "gates/blind_spots.h"
#include "gates/bundle_writer.h"
#include "gates/run_context.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

// Of a start and a load; a model of gigabytes is read, summed and copied to a device.
constexpr std::chrono::seconds kStartLimit{180};
// What an engine sees of the caller's environment; no gate and no setting is among them.
const std::vector<std::string> kPassed = {"PATH", "HOME",   "TMPDIR",
                                          "LANG", "LC_ALL", "LD_LIBRARY_PATH"};
// Where the CUDA backend finds cuBLASLt: passed on where the caller sets it, and booked.
constexpr const char* kCublasPath = "FG_CUBLASLT_PATH";

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc;
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A folder of this process below `parent`, gone with the object. A run that a signal ended leaves
// its own behind; the next one clears away those of processes that no longer are.
class ScratchFolder {
 public:
  static Result<ScratchFolder> Make(const std::string& parent) {
    FG_RETURN_IF_ERROR(fg::MakeFolders(parent));
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
      const pid_t owner = std::atoi(entry.path().filename().c_str());
      if (owner <= 0 || ::kill(owner, 0) == 0 || errno != ESRCH) continue;
      std::filesystem::remove_all(entry.path(), ignored);
    }
    static std::atomic<int> runs{0};  // of this process, which may go on side by side
    const std::string path = fmt::format("{}/{}-{}", parent, ::getpid(), runs++);
    std::filesystem::remove_all(path, ignored);
    FG_RETURN_IF_ERROR(fg::MakeFolders(path));
    return ScratchFolder(path);
  }
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// hello of one arm with nothing set, from a process of its own.
Result<Json> Hello(EnginePool& pool, Arm arm, const std::string& fault) {
  EngineKey key{ArmName(arm), {{"FG_THREADS", "1"}}, ""};
  if (arm == Arm::kHead && !fault.empty()) key.variables["FG_FAULT"] = fault;
  Asked failure;
  auto lease = pool.Fresh(key, fg::After(kStartLimit), &failure);
  if (!lease.ok()) return Status(ErrorKind::kIo, lease.status().message());
  return lease->engine().hello;
}

// A mode that no setting names would never be walked.
Status CheckModes(const GateSpec& spec, const HelloGate& gate) {
  for (const std::string& mode : gate.modes) {
    const bool named = std::any_of(spec.set.begin(), spec.set.end(),
                                   [&](const auto& setting) { return setting.second == mode; });
    if (named) continue;
    return Status(
        ErrorKind::kUsage,
        fmt::format("gate '{}' has mode {} by head's hello, which the matrix does not set",
                    spec.name, mode));
  }
  return Status::Ok();
}

// The matrix and the engine must speak of the same gates.
Status CheckGates(const Matrix& matrix, const std::vector<HelloGate>& gates) {
  std::vector<std::string> known;
  for (const HelloGate& gate : gates) known.push_back(gate.name);
  for (const GateSpec& spec : matrix.gates()) {
    const auto gate = std::find_if(gates.begin(), gates.end(),
                                   [&](const HelloGate& g) { return g.name == spec.name; });
    if (gate == gates.end()) {
      return Status(ErrorKind::kUsage, "the matrix names gate '" + spec.name +
                                           "', which head does not know" +
                                           fg::DidYouMean(spec.name, known));
    }
    if (std::set(gate->needs.begin(), gate->needs.end()) !=
        std::set(spec.needs.begin(), spec.needs.end())) {
      return Status(
          ErrorKind::kUsage,
          fmt::format("gate '{}' needs [{}] by the matrix, but [{}] by head's hello", spec.name,
                      fmt::join(spec.needs, ", "), fmt::join(gate->needs, ", ")));
    }
    if ((gate->bits == "same") != spec.same_bits) {
      return Status(ErrorKind::kUsage,
                    fmt::format("gate '{}' has bits: {} by the matrix, but {} by head's hello",
                                spec.name, spec.same_bits ? "same" : "other", gate->bits));
    }
    FG_RETURN_IF_ERROR(CheckModes(spec, *gate));
  }
  for (const HelloGate& gate : gates) {
    if (matrix.FindGate(gate.name) == nullptr) {
      return Status(ErrorKind::kUsage,
                    "head knows gate '" + gate.name + "', which the matrix lacks: add its row");
    }
  }
  return Status::Ok();
}

// What one hello must resolve a setting to.
Status CheckResolved(const HelloGate& told, const std::string& setting, const std::string& text) {
  const bool right =
      told.kind == "mode" ? told.value == text : (told.value == "0") == (setting == "off");
  if (right) return Status::Ok();
  return Status(
      ErrorKind::kUsage,
      fmt::format("gate '{0}': the matrix calls {0}={1} {2}, but head resolves it to '{3}'",
                  told.name, text, setting, told.value));
}

// What the matrix calls on and off must be that to head: a setting that says otherwise would hold a
// path against itself. One process a round: the first setting of each gate, then the second, ...
Status CheckSettings(EnginePool& pool, const Matrix& matrix) {
  size_t rounds = 0;
  for (const GateSpec& gate : matrix.gates()) rounds = std::max(rounds, gate.set.size());
  for (size_t round = 0; round < rounds; ++round) {
    std::map<std::string, std::pair<std::string, std::string>> meant;  // gate -> setting, text
    EngineKey key{ArmName(Arm::kHead), {{"FG_THREADS", "1"}}, ""};
    for (const GateSpec& gate : matrix.gates()) {
      const auto setting = std::next(
          gate.set.begin(), static_cast<std::ptrdiff_t>(std::min(round, gate.set.size() - 1)));
      meant[gate.name] = *setting;
      key.variables[gate.name] = setting->second;
    }
    Asked failure;
    auto lease = pool.Fresh(key, fg::After(kStartLimit), &failure);
    if (!lease.ok()) return Status(ErrorKind::kIo, lease.status().message());
    for (const HelloGate& told : HelloGates(lease->engine().hello)) {
      const auto& [setting, text] = meant.at(told.name);
      FG_RETURN_IF_ERROR(CheckResolved(told, setting, text));
    }
  }
  return Status::Ok();
}

// A binary whose recorded revision is not the pinned one is no measuring instrument.
Status CheckSnapshot(const RunOptions& options, const Json& hello) {
  const std::string hash = hello.value("build", Json::object()).value("engine_hash", "");
  if (options.snapshot.engine.empty() || hash == options.snapshot.engine) return Status::Ok();
  return Status(ErrorKind::kUsage,
                fmt::format("the snapshot's program says engine hash {}, but {} is pinned; "
                            "remove it from the cache and run `flipgate snapshot` again",
                            hash, options.snapshot.engine));
}

class Run {
 public:
  Run(const RunOptions& options, const ClassSpec& of_class, std::string scratch, EnginePool& pool,
      ModelStore& models)
      : options_(options), of_class_(of_class), scratch_(std::move(scratch)) {
    state_.options = &options;
    state_.pool = &pool;
    state_.models = &models;
  }

  Status Prepare();
  Result<RunSummary> Execute();

 private:
  CellResult RunOnce(const CellId& cell, int attempt);
  Status RunCell(const CellId& cell);
  Status BookModels();
  void Work();
  Result<std::vector<BlindSpot>> FindBlindSpots();

  const RunOptions& options_;
  const ClassSpec& of_class_;
  const std::string scratch_;
  RunState state_;
  BundleHeader header_;
  std::vector<CellId> all_, selected_;
  std::unique_ptr<BundleWriter> writer_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;  // guards the three below
  size_t done_ = 0;
  std::set<std::string> reached_;
  Status failed_;
};

Status Run::Prepare() {
  FG_ASSIGN_OR_RETURN(Json hello, Hello(*state_.pool, Arm::kHead, ""));
  if (!options_.fault.empty()) {
    // Head starts without the fault, so where it does not start with it, the fault's name is wrong.
    auto faulty = Hello(*state_.pool, Arm::kHead, options_.fault);
    if (!faulty.ok()) {
      return Status(ErrorKind::kUsage,
                    "--fault " + options_.fault + ": " + faulty.status().message());
    }
    hello = std::move(faulty).value();
  }
  state_.head_gates = HelloGates(hello);
  const Json device = hello.value("device", Json::object());
  state_.levels = device.value("levels", std::vector<std::string>{});
  const std::string hardware_class = device.value("class", "");
  if (hardware_class != options_.hardware_class) {
    return Status(ErrorKind::kUsage, fmt::format("head runs on class '{}', but the run is for '{}'",
                                                 hardware_class, options_.hardware_class));
  }
  FG_RETURN_IF_ERROR(CheckGates(options_.matrix, state_.head_gates));
  FG_RETURN_IF_ERROR(CheckSettings(*state_.pool, options_.matrix));
  if (!options_.snapshot_program.empty()) {
    FG_ASSIGN_OR_RETURN(const Json snapshot, Hello(*state_.pool, Arm::kSnapshot, ""));
    FG_RETURN_IF_ERROR(CheckSnapshot(options_, snapshot));
    state_.snapshot_gates = HelloGates(snapshot);
  }
  FG_ASSIGN_OR_RETURN(selected_,
                      SelectCells(options_.matrix, options_.hardware_class, options_.selection));
  all_ = options_.matrix.Cells(options_.hardware_class);
  const auto place = [&](const CellId& cell) {
    return std::find(options_.order.begin(), options_.order.end(), cell);
  };
  std::stable_sort(selected_.begin(), selected_.end(),
                   [&](const CellId& a, const CellId& b) { return place(a) < place(b); });

  header_.subject = options_.subject;
  header_.hardware_class = options_.hardware_class;
  header_.device = device;
  header_.build = hello.value("build", Json::object());
  if (options_.dirty) header_.build["dirty"] = true;
  header_.gates = hello.value("gates", Json::array());
  header_.hashes = options_.hashes;
  header_.snapshot = options_.snapshot;
  header_.started = UtcNow();
  header_.fault = options_.fault;
  header_.variables = {{"FG_THREADS", "1"}, {"OMP_WAIT_POLICY", "passive"}};
  // That it was set, not the path: no folder of this machine stands in a bundle.
  if (!fg::PassedEnvironment({kCublasPath}).empty()) header_.variables[kCublasPath] = "(set)";
  header_.selection = options_.selection.cells;
  for (const std::string& kind : options_.selection.without)
    header_.selection.push_back("without " + kind);
  header_.jobs = of_class_.cells > 0 ? std::min(options_.jobs, of_class_.cells) : options_.jobs;
  header_.private_folders = {options_.project.root, options_.out, scratch_};
  return Status::Ok();
}

CellResult Run::RunOnce(const CellId& cell, int attempt) {
  const auto& kinds = AllEvidenceKinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const EvidenceKind& k) { return k.name == cell.kind; });
  const EvidenceSpec& spec = *options_.matrix.FindEvidence(cell.kind, options_.hardware_class);
  std::string folder =
      fmt::format("{}/{}-{}-{}-{}", scratch_, cell.kind, cell.gate, cell.model, attempt);
  if (const Status made = fg::MakeFolders(folder); !made.ok())
    return CellResult::Error(made.message());
  RunContext context(state_, cell, fg::After(std::chrono::milliseconds(spec.timeout_ms)), folder);
  const auto start = std::chrono::steady_clock::now();
  CellResult result;
  try {
    result = kind->run(context, cell);
  } catch (const Json::exception& wrong) {
    // A member of another type than the protocol says: the engine's fault, not the harness's.
    result = CellResult::Fail(
        "protocol", std::string("an answer's member is of a wrong type: ") + wrong.what());
  }
  result.seconds = SecondsSince(start);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return result;
}

// A failing cell runs again (twice, unless the options say otherwise): all fail is `fail`, else
// `flaky`. Nothing else is repeated.
Status Run::RunCell(const CellId& cell) {
  const std::string left_out = options_.leave_out ? options_.leave_out(cell) : "";
  CellResult result = left_out.empty() ? RunOnce(cell, 0) : CellResult::Skipped(left_out);
  std::vector<std::string> runs;
  if (result.outcome == Outcome::kFail) {
    runs.push_back(OutcomeName(result.outcome));
    for (int attempt = 1; attempt < options_.attempts; ++attempt) {
      const CellResult again = RunOnce(cell, attempt);
      runs.push_back(OutcomeName(again.outcome));
      if (again.outcome == Outcome::kFail) continue;
      result.outcome = Outcome::kFlaky;
      result.reason = fmt::format("failed, then run {} ended as {}: {}", attempt + 1,
                                  OutcomeName(again.outcome), result.reason);
      break;
    }
  }
  FG_RETURN_IF_ERROR(writer_->Add(cell, result, runs));
  std::lock_guard lock(mutex_);
  ++done_;
  reached_.insert(result.labels.begin(), result.labels.end());
  if (options_.on_cell) options_.on_cell(cell, result, done_, all_.size());
  return Status::Ok();
}

void Run::Work() {
  for (size_t i = next_++; i < selected_.size(); i = next_++) {
    const Status status = RunCell(selected_[i]);
    if (status.ok()) continue;
    std::lock_guard lock(mutex_);
    failed_ = status;
    next_ = selected_.size();
  }
}

// What load says of each model in scope, and the sums before any cell runs: a wrong model is a
// matter of configuration, not of one cell.
Status Run::BookModels() {
  std::set<std::string> names;
  for (const CellId& cell : selected_) names.insert(cell.model);
  for (const std::string& name : names) {
    FG_RETURN_IF_ERROR(state_.models->Path(name).status());
    const CellId cell{"load", kDefaultRow, name};
    RunContext context(state_, cell, fg::After(kStartLimit), scratch_);
    auto engine = context.Engine(Arm::kHead, {}, name);
    if (!engine.ok()) {
      if (options_.on_note) options_.on_note("model '" + name + "': " + engine.status().message());
      continue;  // the cells of this model say the same as their outcome
    }
    Json loaded = engine->load();
    for (const char* member : {"id", "ok", "milliseconds", "memory"}) loaded.erase(member);
    FG_RETURN_IF_ERROR(writer_->AddModel(name, std::move(loaded)));
  }
  return Status::Ok();
}

Result<std::vector<BlindSpot>> Run::FindBlindSpots() {
  std::vector<BlindSpot> spots;
  // Of a part of the matrix they say nothing: the evidence that reaches them was left out.
  if (selected_.size() != all_.size()) return spots;
  std::set<std::string> seen, names;
  for (const CellId& cell : selected_) names.insert(cell.model);
  for (const std::string& name : names) {
    const CellId cell{"labels", kDefaultRow, name};
    RunContext context(state_, cell, fg::After(kStartLimit), scratch_);
    auto used = DefaultLabels(context, name);
    if (!used.ok()) {
      if (options_.on_note)
        options_.on_note("blind spots of '" + name + "' are not known: " + used.status().message());
      return spots;  // an engine that gave no answer once is not waited for again
    }
    for (const BlindSpot& spot : Unreached(*used, reached_)) {
      if (seen.insert(spot.phase + spot.op + spot.label).second) spots.push_back(spot);
    }
  }
  return spots;
}

Result<RunSummary> Run::Execute() {
  const auto start = std::chrono::steady_clock::now();
  // Two runs into one folder would mix their results.
  FG_RETURN_IF_ERROR(fg::MakeFolders(options_.out));
  const auto folder = fg::FileLock::TryTake(options_.out);
  if (!folder.ok()) {
    return folder.status().kind() == ErrorKind::kRefused
               ? Status(ErrorKind::kUsage, options_.out +
                                               ": another run writes there; wait for it, or give "
                                               "--out another folder")
               : folder.status();
  }
  FG_ASSIGN_OR_RETURN(writer_, BundleWriter::Create(options_.out, header_, options_.matrix, all_,
                                                    options_.waivers));
  FG_RETURN_IF_ERROR(BookModels());
  for (const CellId& cell : all_) {
    if (std::find(selected_.begin(), selected_.end(), cell) != selected_.end()) continue;
    FG_RETURN_IF_ERROR(writer_->Add(cell, CellResult::Skipped("not selected")));
    std::lock_guard lock(mutex_);
    ++done_;
  }
  std::vector<std::thread> workers;
  for (int64_t i = 1; i < header_.jobs; ++i) workers.emplace_back([this] { Work(); });
  Work();
  for (std::thread& worker : workers) worker.join();
  FG_RETURN_IF_ERROR(failed_);
  FG_ASSIGN_OR_RETURN(auto spots, FindBlindSpots());
  RunSummary summary;
  FG_ASSIGN_OR_RETURN(summary.bundle, writer_->Finish(std::move(spots), SecondsSince(start)));
  summary.bundle_path = options_.out + "/bundle.json";
  return summary;
}

// Head and snapshot on the run's class, and head on the class that evidence holds it against: one
// at most.
Result<std::vector<EngineCommand>> Commands(const RunOptions& options, const ClassSpec& of_class) {
  std::vector<EngineCommand> commands = {{ArmName(Arm::kHead), options.engine, of_class.probe}};
  if (!options.snapshot_program.empty())
    commands.push_back({ArmName(Arm::kSnapshot), {options.snapshot_program}, of_class.probe});
  std::string against;
  for (const EvidenceSpec& everywhere : options.matrix.evidence()) {
    const auto& fields =
        options.matrix.FindEvidence(everywhere.kind, options.hardware_class)->fields;
    if (!fields.contains("against")) continue;
    const std::string other = fields["against"].get<std::string>();
    if (!against.empty() && other != against) {
      return Status(ErrorKind::kUsage,
                    fmt::format("evidence is held against class '{}' and against class '{}'; this "
                                "program holds it against one",
                                against, other));
    }
    against = other;
  }
  if (against.empty()) return commands;
  FG_ASSIGN_OR_RETURN(const ClassSpec reference, options.matrix.Class(against));
  commands.push_back({ArmName(Arm::kReference), options.engine, reference.probe});
  return commands;
}

}  // namespace

Result<RunSummary> RunMatrix(const RunOptions& options) {
  FG_ASSIGN_OR_RETURN(
      ScratchFolder scratch,
      ScratchFolder::Make(options.project.Path(options.project.cache) + "/scratch"));
  std::vector<std::string> passed = fg::PassedEnvironment(kPassed);
  // Cells run side by side, so a thread that waits must not spin on another cell's processor.
  passed.push_back("OMP_WAIT_POLICY=passive");
  for (std::string& entry : fg::PassedEnvironment({kCublasPath}))
    passed.push_back(std::move(entry));
  FG_ASSIGN_OR_RETURN(const ClassSpec of_class, options.matrix.Class(options.hardware_class));
  FG_ASSIGN_OR_RETURN(std::vector<EngineCommand> commands, Commands(options, of_class));
  EnginePool pool(std::move(commands), passed, static_cast<size_t>(of_class.engines));
  ModelStore models(options.project, options.matrix, options.engine, passed, options.models);
  Run run(options, of_class, scratch.path(), pool, models);
  FG_RETURN_IF_ERROR(run.Prepare());
  return run.Execute();
}

}  // namespace flipgate
