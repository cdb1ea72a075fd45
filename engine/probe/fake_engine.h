// An engine without arithmetic, for the tests of what stands in front of one: it books its
// forwards, and fails on demand. Its tokenizer is that of the tests' tiny model.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/session/engine.h"
#include "engine/testing/tiny_model.h"

namespace fg {

struct FakeForward {
  int64_t position, rows, wanted;
  bool operator==(const FakeForward&) const = default;
};

struct FakeLog {
  std::vector<FakeForward> forwards;
  int sessions = 0, graph_drops = 0;
  int logit_rows = 0;   // rows of logits that were taken
  Status next_forward;  // what the next forward ends with
  bool throws_bad_alloc = false;
};

// Gives each token the logits of a one-hot row: the next token is id + 1.
class FakeSession : public Session {
 public:
  FakeSession(FakeLog* log, int64_t context, int64_t vocabulary)
      : log_(log), context_(context), vocabulary_(vocabulary) {}

  int64_t position() const override { return position_; }
  Status Forward(std::span<const int32_t> tokens, size_t first_wanted,
                 const ForwardOptions& options, std::vector<float>* logits) override {
    if (log_->throws_bad_alloc) throw std::bad_alloc();
    FG_RETURN_IF_ERROR(std::exchange(log_->next_forward, Status()));
    const int64_t rows = static_cast<int64_t>(tokens.size());
    if (position_ + rows > context_) return Status(ErrorKind::kBadRequest, "the context is full");
    log_->forwards.push_back({position_, rows, rows - static_cast<int64_t>(first_wanted)});
    for (const int32_t token : tokens.subspan(first_wanted)) {
      if (options.argmax != nullptr) {
        options.argmax->push_back((token + 1) % static_cast<int32_t>(vocabulary_));
      }
      if (logits == nullptr) continue;
      ++log_->logit_rows;
      const size_t start = logits->size();
      logits->resize(start + static_cast<size_t>(vocabulary_), 0.0f);
      (*logits)[start + static_cast<size_t>((token + 1) % vocabulary_)] = 1.0f;
    }
    position_ += rows;
    return Status::Ok();
  }
  Status Truncate(int64_t position) override {
    position_ = position;
    return Status::Ok();
  }

 private:
  FakeLog* log_;
  int64_t context_, vocabulary_, position_ = 0;
};

class FakeEngine : public Engine {
 public:
  explicit FakeEngine(const EngineOptions& options)
      : bytes_(testing::TinyModelBytes({})),
        tokenizer_(
            Tokenizer::FromGguf(*GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes_.data()),
                                                  bytes_.size()}))
                .value()),
        options_(options) {
    summary_.sha256 = std::string(64, 'a');
    summary_.architecture = "qwen2";
    summary_.name = "fake";
    summary_.vocabulary = tokenizer_.vocabulary();
    summary_.context = 96;
    summary_.tensors = {{"f32", 3}};
    if (options_.context == 0) options_.context = summary_.context;
  }

  const ModelSummary& summary() const override { return summary_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  const MemoryBook& memory() const override { return memory_; }
  int64_t batch() const override { return options_.batch; }
  int64_t context() const override { return options_.context; }
  double load_milliseconds() const override { return 1.5; }
  Result<std::unique_ptr<Session>> NewSession() override {
    ++log_.sessions;
    return std::unique_ptr<Session>(
        std::make_unique<FakeSession>(&log_, options_.context, summary_.vocabulary));
  }
  void DropGraphs() override { ++log_.graph_drops; }

  FakeLog& log() { return log_; }
  MemoryBook& book() { return memory_; }

 private:
  std::string bytes_;
  Tokenizer tokenizer_;
  EngineOptions options_;
  ModelSummary summary_;
  MemoryBook memory_;
  FakeLog log_;
};

}  // namespace fg
