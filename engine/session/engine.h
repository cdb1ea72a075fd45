// The engine as its front ends (probe, run, bench) see it: load a model, open sessions, run tokens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/backend/backend_factory.h"
#include "engine/backend/load_report.h"
#include "engine/backend/violation.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/memory_book.h"
#include "engine/tokenizer/tokenizer.h"

namespace fg {

struct EngineOptions {
  int64_t context = 0;  // positions per session; 0 takes the model's context_length
  int64_t batch = 512;  // most rows of one forward; the context where that is less
  bool poison = false;  // for tests: BackendOptions::poison
};

struct ModelSummary {
  std::string sha256, architecture, name;
  int64_t layers = 0, width = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, vocabulary = 0,
          context = 0;
  std::map<std::string, int> tensors;  // all tensors per type name
  std::map<std::string, int> w16;      // matmul weights outside look-up and tail, per type name
  std::map<std::string, int64_t> w16_values;  // values of those weights, per type name
  // What was decided when the weights were registered: whether the nibble family serves every w16
  // weight, the planes, the mode of FG_MMQ_A_FUSE.
  LoadReport registered;
};

class Session;

class Engine {
 public:
  // `device`, `gates` and `ledger` must outlive the engine. kBadModel, kIo, kOutOfMemory, kDevice,
  // kUsage (options).
  static Result<std::unique_ptr<Engine>> Load(const std::string& path, const EngineOptions& options,
                                              const Device& device, const Gates& gates,
                                              Ledger* ledger);
  virtual ~Engine() = default;

  virtual const ModelSummary& summary() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  virtual const MemoryBook& memory() const = 0;
  virtual int64_t batch() const = 0;
  virtual int64_t context() const = 0;
  virtual double load_milliseconds() const = 0;
  virtual Result<std::unique_ptr<Session>>
  NewSession() = 0;  // kOutOfMemory; the engine outlives it
  virtual void DropGraphs() = 0;
  // As the backend's (engine/backend/backend.h): nothing and false on the CPU.
  virtual std::optional<DeviceMemory> device_memory() const { return std::nullopt; }
  virtual bool TimeKernels(bool /*on*/) { return false; }
  virtual std::vector<KernelTime> TakeKernelTimes() { return {}; }
};

struct ForwardOptions {
  int64_t rows_per_forward = 0;  // 0 takes the engine's batch
  bool reuse_graph = true;
  Violation violation = Violation::kNone;  // in the first piece
  // Where given, the ids of the highest logits of the wanted tokens are appended (-1 where all are
  // NaN), and the logits need not be taken: on a device they stay there.
  std::vector<int32_t>* argmax = nullptr;
};

class Session {
 public:
  virtual ~Session() = default;
  virtual int64_t position() const = 0;  // tokens in the KV cache

  // Runs `tokens` after position() in forwards of at most rows_per_forward rows. Appends to *logits
  // (f32, [wanted][vocabulary]; may be null with options.argmax) those of tokens[first_wanted..];
  // first_wanted == tokens.size() wants none. kBadRequest: an id out of range, more tokens than the
  // context holds (nothing has run then), a violation that could not arise. kRefused: a promise of
  // the prefill was broken.
  virtual Status Forward(std::span<const int32_t> tokens, size_t first_wanted,
                         const ForwardOptions& options, std::vector<float>* logits) = 0;
  // Forgets all positions from `position` on.
  virtual Status Truncate(int64_t position) = 0;
};

}  // namespace fg
