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

Status KvSession::RunPiece(std::span<const int32_t> tokens, const Wanted& wanted,
                           const ForwardOptions& options) {
  const Faults& faults = forwards_->gates->faults();
  const int64_t rows = static_cast<int64_t>(tokens.size());
  const Phase phase = PhaseOfRows(rows);
  ++forwards_->count;
  if (faults.Active(Fault::kCrash) && forwards_->count == kFatalForward) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn it into an exit
    std::raise(SIGSEGV);
  }
  GraphParams params = {shape_, rows, wanted.rows};
  if (faults.Active(Fault::kGateInGraph)) {
    params.gate = forwards_->gates->Mode(Gate::kMmqAFuse, Phase::kGraph);
  }
  bool reused = false;
  FG_ASSIGN_OR_RETURN(const auto graph,
                      forwards_->graphs->Get(params, options.reuse_graph, &reused));
  std::vector<int32_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), static_cast<int32_t>(position_));
  forwards_->ledger->CountForward(phase);
  ForwardInputs inputs = {tokens.data(), positions.data(), kv_.get(),
                          wanted.logits, wanted.argmax,    phase};
  inputs.violation = options.violation;
  inputs.kv_row_off = faults.Active(Fault::kKvRowOff) && reused && position_ > 0;
  FG_RETURN_IF_ERROR(forwards_->backend->Execute(*graph, inputs));
  position_ += rows;
  return Status::Ok();
}

Status KvSession::RunPieces(std::span<const int32_t> tokens, size_t first_wanted,
                            const ForwardOptions& options, float* logits, int32_t* argmax) {
  const size_t piece = static_cast<size_t>(
      options.rows_per_forward == 0 ? batch_ : std::min(options.rows_per_forward, batch_));
  ForwardOptions piece_options = options;
  for (size_t done = 0; done < tokens.size(); done += piece) {
    const size_t end = std::min(tokens.size(), done + piece);
    const int64_t wanted = static_cast<int64_t>(end - std::min(end, std::max(done, first_wanted)));
    FG_RETURN_IF_ERROR(
        RunPiece(tokens.subspan(done, end - done), {wanted, logits, argmax}, piece_options));
    piece_options.violation = Violation::kNone;
    if (logits != nullptr) logits += wanted * shape_.vocabulary;
    if (argmax != nullptr) argmax += wanted;
  }
  return Status::Ok();
}

Status KvSession::Forward(std::span<const int32_t> tokens, size_t first_wanted,
                          const ForwardOptions& options, std::vector<float>* logits) {
  FG_RETURN_IF_ERROR(Check(tokens, first_wanted, options));
  std::vector<int32_t>* argmax = options.argmax;
  const size_t wanted = tokens.size() - first_wanted;
  if (wanted > 0 && logits == nullptr && argmax == nullptr) {
    return Status(ErrorKind::kInternal, "a forward's results are wanted and have no place");
  }
  const size_t logits_before = logits != nullptr ? logits->size() : 0;
  const size_t argmax_before = argmax != nullptr ? argmax->size() : 0;
  if (logits != nullptr) logits->resize(logits_before + wanted * shape_.vocabulary);
  if (argmax != nullptr) argmax->resize(argmax_before + wanted);
  const int64_t start = position_;
  const Status status = RunPieces(tokens, first_wanted, options,
                                  logits != nullptr ? logits->data() + logits_before : nullptr,
                                  argmax != nullptr ? argmax->data() + argmax_before : nullptr);
  if (!status.ok()) {
    // All or nothing: the caller may send the same tokens again.
    position_ = start;
    if (logits != nullptr) logits->resize(logits_before);
    if (argmax != nullptr) argmax->resize(argmax_before);
  }
  return status;
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
