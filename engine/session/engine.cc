#include "engine/session/engine.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/file.h"
#include "base/sha256.h"
#include "engine/backend/graph_cache.h"
#include "engine/gguf/gguf.h"
#include "engine/readers/readers.h"
#include "engine/session/kv_session.h"

namespace fg {
namespace {

Status Usage(std::string message) { return Status(ErrorKind::kUsage, std::move(message)); }

Result<EngineOptions> Resolve(EngineOptions options, int64_t model_context) {
  if (options.context < 0 || options.context > model_context) {
    return Usage("context " + std::to_string(options.context) + " is outside 1 to the model's " +
                 std::to_string(model_context) + "; 0 takes the model's");
  }
  if (options.batch < 1) {
    return Usage("batch " + std::to_string(options.batch) + " is no number of rows; 1 or more");
  }
  if (options.context == 0) options.context = model_context;
  options.batch = std::min(options.batch, options.context);
  return options;
}

uint64_t MachineBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// The context comes from the file, so what hangs on it is held against the memory it will lie in
// before any of it is taken.
Status CheckContextFits(const Hyperparameters& model, int64_t context, const Device& device) {
  const int64_t position_bytes = model.shape.layers * model.shape.kv_width() * 2 * 2 +
                                 model.rope_dims * static_cast<int64_t>(sizeof(float));
  const auto bytes =
      CheckedMul(static_cast<uint64_t>(context), static_cast<uint64_t>(position_bytes));
  const uint64_t most = device.is_cpu() ? MachineBytes() : device.info()->memory_bytes;
  if (bytes && *bytes <= most) return Status::Ok();
  return Status(ErrorKind::kOutOfMemory,
                "a context of " + std::to_string(context) + " positions takes " +
                    std::to_string(position_bytes) + " bytes a position, more than this " +
                    (device.is_cpu() ? "machine's " : "device's ") + std::to_string(most >> 20) +
                    " MiB; load with a smaller context");
}

ModelSummary Summarize(const GgufFile& file, const Hyperparameters& model,
                       const ModelWeights& weights, std::string sha256) {
  const ModelShape& shape = model.shape;
  ModelSummary summary;
  summary.sha256 = std::move(sha256);
  summary.architecture = model.architecture;
  summary.name = model.name;
  summary.layers = shape.layers;
  summary.width = shape.width;
  summary.ffn = shape.ffn;
  summary.heads = shape.heads;
  summary.kv_heads = shape.kv_heads;
  summary.head_dim = shape.head_dim;
  summary.vocabulary = shape.vocabulary;
  summary.context = model.context;
  for (const GgufTensor& tensor : file.tensors()) ++summary.tensors[InfoOf(tensor.type).name];
  summary.w16 = weights.W16PerType();
  summary.w16_values = weights.W16ValuesPerType();
  return summary;
}

class LoadedEngine : public Engine {
 public:
  LoadedEngine(MappedFile file, Tokenizer tokenizer)
      : file_(std::move(file)), tokenizer_(std::move(tokenizer)) {}

  Status MakeBackend(const Device& device, const Gates& gates, Ledger* ledger) {
    FG_ASSIGN_OR_RETURN(backend_, device.NewBackend(gates, ledger, &memory_));
    graphs_.emplace(backend_.get(), ledger);
    forwards_ = {backend_.get(), &*graphs_, ledger, &gates};
    return Status::Ok();
  }
  Status Prepare(const Hyperparameters& model, const ModelWeights& weights,
                 const EngineOptions& options) {
    shape_ = model.shape;
    batch_ = options.batch;
    context_ = options.context;
    return backend_->LoadModel(model, weights, {options.context, options.batch, options.poison});
  }
  // The CPU runs on the mapped file. A device has its own copy, booked by its backend; the file is
  // let go.
  void KeepOrLeaveFile(bool keep) {
    if (keep) {
      memory_.Add(MemoryCategory::kWeights, file_.bytes().size(), true);
    } else {
      file_ = MappedFile();
    }
  }
  void Observe(std::unique_ptr<NodeObserver> readers) {
    readers_ = std::move(readers);
    backend_->Observe(readers_.get());
  }
  void Describe(ModelSummary summary, double milliseconds) {
    summary_ = std::move(summary);
    summary_.registered = backend_->load_report();
    load_milliseconds_ = milliseconds;
  }

  const ModelSummary& summary() const override { return summary_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  const MemoryBook& memory() const override { return memory_; }
  int64_t batch() const override { return batch_; }
  int64_t context() const override { return context_; }
  double load_milliseconds() const override { return load_milliseconds_; }
  void DropGraphs() override { graphs_->Clear(); }
  std::optional<DeviceMemory> device_memory() const override { return backend_->device_memory(); }
  bool TimeKernels(bool on) override { return backend_->TimeKernels(on); }
  std::vector<KernelTime> TakeKernelTimes() override { return backend_->TakeKernelTimes(); }

  Result<std::unique_ptr<Session>> NewSession() override {
    FG_ASSIGN_OR_RETURN(std::unique_ptr<KvCache> kv, backend_->NewKvCache());
    return std::unique_ptr<Session>(
        std::make_unique<KvSession>(&forwards_, shape_, context_, batch_, std::move(kv)));
  }

 private:
  MemoryBook memory_;  // first: everything below gives back to it
  MappedFile file_;
  Tokenizer tokenizer_;
  std::unique_ptr<NodeObserver> readers_;  // outlives the backend, which calls it
  std::unique_ptr<Backend> backend_;
  std::optional<GraphCache> graphs_;
  Forwards forwards_ = {};
  ModelShape shape_;
  ModelSummary summary_;
  int64_t batch_ = 0, context_ = 0;
  double load_milliseconds_ = 0;
};

Result<std::unique_ptr<Engine>> LoadFile(const std::string& path, const EngineOptions& options,
                                         const Device& device, const Gates& gates, Ledger* ledger) {
  const auto start = std::chrono::steady_clock::now();
  FG_RETURN_IF_ERROR(CheckReaders(gates.settings()));
  FG_RETURN_IF_ERROR(CheckReadersSpare(gates.settings(), path));
  FG_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  const std::span<const std::byte> bytes = file.bytes();
  FG_ASSIGN_OR_RETURN(const GgufFile gguf, GgufFile::Parse(bytes));
  FG_ASSIGN_OR_RETURN(const Hyperparameters model, ReadHyperparameters(gguf));
  FG_ASSIGN_OR_RETURN(const ModelWeights weights, ModelWeights::Read(gguf, model.shape));
  FG_ASSIGN_OR_RETURN(Tokenizer tokenizer, Tokenizer::FromGguf(gguf));
  FG_ASSIGN_OR_RETURN(const EngineOptions resolved, Resolve(options, model.context));
  FG_RETURN_IF_ERROR(CheckContextFits(model, resolved.context, device));
  auto engine = std::make_unique<LoadedEngine>(std::move(file), std::move(tokenizer));
  FG_RETURN_IF_ERROR(engine->MakeBackend(device, gates, ledger));
  FG_RETURN_IF_ERROR(engine->Prepare(model, weights, resolved));
  // Last, so that a model that does not load leaves no files behind.
  FG_ASSIGN_OR_RETURN(std::unique_ptr<NodeObserver> readers, MakeReaders(gates.settings()));
  engine->Observe(std::move(readers));
  ModelSummary summary = Summarize(gguf, model, weights, Sha256Hex(bytes));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  engine->Describe(std::move(summary), took.count());
  engine->KeepOrLeaveFile(device.is_cpu());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Load(const std::string& path, const EngineOptions& options,
                                             const Device& device, const Gates& gates,
                                             Ledger* ledger) {
  auto engine = LoadFile(path, options, device, gates, ledger);
  // Files name themselves in what the file system says; everything else is told whose it is.
  if (engine.ok() || engine.status().kind() == ErrorKind::kIo ||
      engine.status().kind() == ErrorKind::kUsage) {
    return engine;
  }
  return engine.status().WithContext(path);
}

}  // namespace fg
