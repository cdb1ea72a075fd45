// A device without hardware: what stands in front of one is tested on it, in this process or as a
// shared object (fake_plugin.cc). Its model is one rule: the token after t is t + 1.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/device_plugin.h"

namespace fg::testing {

constexpr uint64_t kFakeTotal = uint64_t{1000} << 20, kFakeUsed = uint64_t{300} << 20,
                   kFakeBefore = uint64_t{100} << 20, kFakeWeights = 12345;
constexpr int32_t kFatalToken = 250;  // its forward ends in a device error

class FakeKvCache : public KvCache {};

class FakeGraph : public ExecutableGraph {
 public:
  explicit FakeGraph(Graph graph) : graph_(std::move(graph)) {}
  const Graph& graph() const override { return graph_; }

 private:
  Graph graph_;
};

class FakeBackend : public Backend {
 public:
  FakeBackend(Ledger* ledger, MemoryBook* memory) : ledger_(ledger), memory_(memory) {}

  Status LoadModel(const Hyperparameters& model, const ModelWeights&,
                   const BackendOptions&) override {
    vocabulary_ = model.shape.vocabulary;
    memory_->Add(MemoryCategory::kWeights, kFakeWeights);
    return Status::Ok();
  }
  const LoadReport& load_report() const override { return report_; }
  Result<std::unique_ptr<ExecutableGraph>> Prepare(Graph graph) override {
    return std::unique_ptr<ExecutableGraph>(std::make_unique<FakeGraph>(std::move(graph)));
  }
  Result<std::unique_ptr<KvCache>> NewKvCache() override {
    return std::unique_ptr<KvCache>(std::make_unique<FakeKvCache>());
  }
  void Observe(NodeObserver*) override {}

  Status Execute(const ExecutableGraph& graph, const ForwardInputs& inputs) override {
    const GraphParams& params = graph.graph().params;
    for (int64_t row = 0; row < params.rows; ++row) {
      if (inputs.tokens[row] != kFatalToken) continue;
      return Status(ErrorKind::kDevice, "layer 3: kernel fake.step 64x96: an illegal address");
    }
    ledger_->CountDispatch(inputs.phase, "matmul", "fake.step");
    if (steps_++ == 0) {
      ledger_->CountCapture();
    } else {
      ledger_->CountReplay();
    }
    for (int64_t row = 0; row < params.wanted; ++row) {
      const int32_t token = inputs.tokens[params.rows - params.wanted + row];
      const int32_t next = (token + 1) % static_cast<int32_t>(vocabulary_);
      if (inputs.argmax != nullptr) inputs.argmax[row] = next;
      if (inputs.logits == nullptr) continue;
      float* const logits = inputs.logits + row * vocabulary_;
      std::fill(logits, logits + vocabulary_, 0.0f);
      logits[next] = 1.0f;
    }
    if (timing_) times_.push_back(params.rows);
    return Status::Ok();
  }

  std::optional<DeviceMemory> device_memory() const override {
    return DeviceMemory{kFakeTotal, kFakeUsed, kFakeBefore};
  }
  bool TimeKernels(bool on) override {
    timing_ = on;
    times_.clear();
    return true;
  }
  // Of each forward of R rows 3 R ms of a GEMM that says its work and R ms of one that does not.
  std::vector<KernelTime> TakeKernelTimes() override {
    KernelTime gemm = {.kernel = "gemm.f16.q4_K 96x64"}, add = {.kernel = "add"};
    for (const int64_t rows : std::exchange(times_, {})) {
      const double seconds = static_cast<double>(rows) * 1e-3;
      gemm.launches += 2;
      gemm.seconds += 3 * seconds;
      gemm.operations += 6e9 * static_cast<double>(rows);
      gemm.bytes += 3e6 * static_cast<double>(rows);
      add.launches += 1;
      add.seconds += seconds;
    }
    if (gemm.launches == 0) return {};
    return {gemm, add};
  }

 private:
  Ledger* ledger_;
  MemoryBook* memory_;
  LoadReport report_;
  int64_t vocabulary_ = 0, steps_ = 0;
  bool timing_ = false;
  std::vector<int64_t> times_;  // rows of each timed forward
};

// Has `exp` alone, which gives x + 1.
class FakeOperations : public Operations {
 public:
  explicit FakeOperations(Ledger* ledger) : ledger_(ledger) {}

  Status QuantizeRows(const float*, int64_t, int64_t, ActivationChunk*) override {
    return Missing("quantize_rows");
  }
  Status Matmul(const WeightView&, const float*, int64_t, const float*, float*) override {
    return Status(ErrorKind::kBadModel, "'w' holds a value beyond f16");
  }
  Status RmsNorm(const float*, const float*, int64_t, int64_t, float, float*) override {
    return Missing("rms_norm");
  }
  Status Swiglu(const float*, const float*, int64_t, int64_t, float*) override {
    return Missing("swiglu");
  }
  Status Rope(float*, int64_t, int64_t, int64_t, const int32_t*, double) override {
    return Missing("rope");
  }
  Status Attention(const AttentionShape&, const float*, const uint16_t*, const uint16_t*,
                   const int32_t*, float*) override {
    return Missing("attention");
  }
  Status Exp(const float* x, int64_t n, float* y) override {
    ledger_->CountDispatch(Phase::kDecode, "exp", "fake.exp");
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 1;
    return Status::Ok();
  }
  Status QuantizeTiles(const float*, int64_t, int64_t, ActivationTile*) override {
    return Missing("quantize_tiles");
  }
  Status RmsNormTiles(const float*, const float*, int64_t, int64_t, float, int, float*,
                      ActivationTile*) override {
    return Missing("rms_norm_tiles");
  }
  Status SwigluTiles(const float*, const float*, int64_t, int64_t, int, float*,
                     ActivationTile*) override {
    return Missing("swiglu_tiles");
  }

 private:
  static Status Missing(const std::string& name) {
    return Status(ErrorKind::kRefused, "this device has no operation '" + name + "'");
  }
  Ledger* ledger_;
};

// `reported_class` empty: sm_90, its own.
class FakeDevice : public DevicePlugin {
 public:
  explicit FakeDevice(const std::string& reported_class = "",
                      const std::string& cublaslt_path = "") {
    info_.hardware_class = "sm_90";
    info_.reported_class = reported_class.empty() ? "sm_90" : reported_class;
    info_.name = "Fake Device";
    info_.driver = "1.2.3";
    info_.runtime = "13.0";
    info_.architectures = "90a, 80";
    info_.memory_bytes = kFakeTotal;
    info_.multiprocessors = 7;
    info_.cublaslt = cublaslt_path;
  }
  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Backend>> NewBackend(const Gates&, Ledger* ledger,
                                              MemoryBook* memory) override {
    return std::unique_ptr<Backend>(std::make_unique<FakeBackend>(ledger, memory));
  }
  Result<std::unique_ptr<Operations>> NewOperations(const Gates&, Ledger* ledger,
                                                    MemoryBook*) override {
    return std::unique_ptr<Operations>(std::make_unique<FakeOperations>(ledger));
  }

 private:
  DeviceInfo info_;
};

}  // namespace fg::testing
