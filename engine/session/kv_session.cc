#include "engine/session/kv_session.h"

#include <algorithm>
#include <csignal>
#include <numeric>
#include <string>

namespace fg {
namespace {

Status BadRequest(std::string message) {
  return Status(ErrorKind::kBadRequest, std::move(message));
}

constexpr int64_t kFatalForward = 3;  // Fault::kCrash

}  // namespace

Status KvSession::Check(std::span<const int32_t> tokens, size_t first_wanted,
                        const ForwardOptions& options) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < shape_.vocabulary) continue;
    return BadRequest("token " + std::to_string(i) + " is " + std::to_string(tokens[i]) +
                      "; the vocabulary is 0 to " + std::to_string(shape_.vocabulary - 1));
  }
  if (tokens.size() > static_cast<size_t>(context_ - position_)) {
    return BadRequest(std::to_string(tokens.size()) + " tokens after position " +
                      std::to_string(position_) + " do not fit the context of " +
                      std::to_string(context_));
  }
  if (first_wanted > tokens.size()) {
    return BadRequest("first wanted token " + std::to_string(first_wanted) + " of " +
                      std::to_string(tokens.size()));
  }
  if (options.rows_per_forward < 0) {
    return BadRequest("rows_per_forward is " + std::to_string(options.rows_per_forward) +
                      "; 1 or more, or 0 for the batch");
  }
  return Status::Ok();
}

Status KvSession::RunPiece(std::span<const int32_t> tokens, int64_t wanted,
                           const ForwardOptions& options, float* logits) {
  const Faults& faults = forwards_->gates->faults();
  const int64_t rows = static_cast<int64_t>(tokens.size());
  const Phase phase = PhaseOfRows(rows);
  ++forwards_->count;
  if (faults.Active(Fault::kCrash) && forwards_->count == kFatalForward) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn it into an exit
    std::raise(SIGSEGV);
  }
  GraphParams params = {shape_, rows, wanted};
  if (faults.Active(Fault::kGateInGraph)) {
    params.gate = forwards_->gates->Mode(Gate::kMmqAFuse, Phase::kGraph);
  }
  bool reused = false;
  FG_ASSIGN_OR_RETURN(const auto graph,
                      forwards_->graphs->Get(params, options.reuse_graph, &reused));
  std::vector<int32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(position_));
  forwards_->ledger->CountForward(phase);
  ForwardInputs inputs = {tokens.data(), positions.data(), kv_.get(), logits, phase};
  inputs.violation = options.violation;
  inputs.kv_row_off = faults.Active(Fault::kKvRowOff) && reused && position_ > 0;
  FG_RETURN_IF_ERROR(forwards_->backend->Execute(*graph, inputs));
  position_ += rows;
  return Status::Ok();
}

Status KvSession::Forward(std::span<const int32_t> tokens, size_t first_wanted,
                          const ForwardOptions& options, std::vector<float>* logits) {
  FG_RETURN_IF_ERROR(Check(tokens, first_wanted, options));
  const size_t piece = static_cast<size_t>(
      options.rows_per_forward == 0 ? batch_ : std::min(options.rows_per_forward, batch_));
  const size_t before = logits->size();
  const int64_t start = position_;
  logits->resize(before + (tokens.size() - first_wanted) * shape_.vocabulary);
  float* next = logits->data() + before;
  ForwardOptions piece_options = options;
  for (size_t done = 0; done < tokens.size(); done += piece) {
    const size_t end = std::min(tokens.size(), done + piece);
    const int64_t wanted = static_cast<int64_t>(end - std::min(end, std::max(done, first_wanted)));
    const Status status = RunPiece(tokens.subspan(done, end - done), wanted, piece_options, next);
    piece_options.violation = Violation::kNone;
    if (!status.ok()) {
      // All or nothing: the caller may send the same tokens again.
      position_ = start;
      logits->resize(before);
      return status;
    }
    next += wanted * shape_.vocabulary;
  }
  return Status::Ok();
}

Status KvSession::Truncate(int64_t position) {
  if (position < 0 || position > position_) {
    return BadRequest("cannot go back to position " + std::to_string(position) +
                      "; the session is at " + std::to_string(position_));
  }
  position_ = position;
  return Status::Ok();
}

}  // namespace fg
