// A CUDA backend on a tiny model, without the engine around it, for the GPU tests of its parts.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/argmax.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/gpu_engine_testing.h"
#include "engine/testing/relative_error.h"
#include "engine/testing/tiny_model.h"

namespace fg::testing {

using Environment = std::vector<std::string>;

struct CudaModelOptions {
  int64_t context = 96, batch = 48;
  bool poison = true;  // so that every read of what nobody wrote shows
};

class CudaModel {
 public:
  explicit CudaModel(const TinyModelSpec& spec, const Environment& environment = {},
                     const CudaModelOptions& options = {})
      : bytes_(TinyModelBytes(spec)),
        file_(GgufFile::Parse(std::as_bytes(std::span(bytes_))).value()),
        model_(ReadHyperparameters(file_).value()),
        weights_(ModelWeights::Read(file_, model_.shape).value()),
        gates_(GatesOf(environment, &ledger)) {
    auto made = NewCudaBackend(gates_, &ledger, &memory, Device().info, Device().cublaslt.get());
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (!made.ok()) return;
    backend.reset(static_cast<CudaBackend*>(made->release()));
    status = backend->LoadModel(model_, weights_, {options.context, options.batch, options.poison});
  }

  const GgufFile& file() const { return file_; }
  const Hyperparameters& model() const { return model_; }
  int64_t vocabulary() const { return model_.shape.vocabulary; }
  std::unique_ptr<KvCache> NewKv() {
    auto kv = backend->NewKvCache();
    EXPECT_TRUE(kv.ok()) << kv.status().message();
    return kv.ok() ? std::move(*kv) : nullptr;
  }
  void DropGraphs() { graphs_.clear(); }

  // What a forward gives; either part may be asked for.
  struct Output {
    std::vector<float> logits;
    std::vector<int32_t> ids;
  };
  struct Ask {
    int64_t wanted = 1;
    bool logits = true, ids = false;
    bool kv_row_off = false;
    Violation violation = Violation::kNone;
  };
  Status Run(KvCache* kv, std::span<const int32_t> tokens, int64_t position, const Ask& ask,
             Output* output) {
    const auto rows = static_cast<int64_t>(tokens.size());
    auto& graph = graphs_[{rows, ask.wanted}];
    if (!graph) {
      FG_ASSIGN_OR_RETURN(graph, backend->Prepare(BuildGraph({model_.shape, rows, ask.wanted})));
    }
    std::vector<int32_t> positions(tokens.size());
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(position));
    // Values that no forward gives, so that what is not written shows.
    if (ask.logits) output->logits.assign(ask.wanted * vocabulary(), std::nanf(""));
    if (ask.ids) output->ids.assign(static_cast<size_t>(ask.wanted), -2);
    ForwardInputs inputs;
    inputs.tokens = tokens.data();
    inputs.positions = positions.data();
    inputs.kv = kv;
    inputs.logits = ask.logits ? output->logits.data() : nullptr;
    inputs.argmax = ask.ids ? output->ids.data() : nullptr;
    inputs.phase = PhaseOfRows(rows);
    inputs.violation = ask.violation;
    inputs.kv_row_off = ask.kv_row_off;
    return backend->Execute(*graph, inputs);
  }

  // The logits of all tokens in a session of its own, in forwards of at most `rows`.
  std::vector<float> Logits(const std::vector<int32_t>& tokens, size_t rows = 1000) {
    const auto kv = NewKv();
    std::vector<float> logits;
    for (size_t done = 0; done < tokens.size(); done += rows) {
      const auto piece = std::span(tokens).subspan(done, std::min(rows, tokens.size() - done));
      Output output;
      const Status ran = Run(kv.get(), piece, static_cast<int64_t>(done),
                             {.wanted = static_cast<int64_t>(piece.size())}, &output);
      EXPECT_TRUE(ran.ok()) << ran.message();
      logits.insert(logits.end(), output.logits.begin(), output.logits.end());
    }
    return logits;
  }

  Ledger ledger;
  MemoryBook memory;

 private:
  std::string bytes_;
  GgufFile file_;
  Hyperparameters model_;
  ModelWeights weights_;
  Gates gates_;

 public:
  std::unique_ptr<CudaBackend> backend;
  Status status;

 private:
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<ExecutableGraph>> graphs_;
};

inline bool SameFloats(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline int NotFinite(const std::vector<float>& values) {
  return static_cast<int>(
      std::count_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }));
}

// Heads of 64 that tensor cores serve, and of 16 that they do not.
inline TinyModelSpec NarrowSpec(TensorType type) {
  TinyModelSpec spec;
  spec.type = type;
  return spec;
}
// q4_k_m in small: several types in one layer.
inline TinyModelSpec MixedSpec() {
  TinyModelSpec spec = WideSpec(TensorType::kQ4_K);
  spec.types = {{"attn_v.weight", TensorType::kQ6_K},
                {"ffn_down.weight", TensorType::kQ6_K},
                {"token_embd.weight", TensorType::kQ6_K}};
  spec.shape.tied_output = true;
  return spec;
}

}  // namespace fg::testing
