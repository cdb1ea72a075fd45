#include "gates/evidence_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "gates/blind_spots.h"
#include "gates/logits.h"
#include "gates/run_context.h"

namespace flipgate {
namespace {

using fg::Json;

// log softmax of one row in double.
std::vector<double> LogSoftmax(const float* row, int64_t n) {
  double most = row[0];
  for (int64_t i = 0; i < n; ++i) most = std::max(most, static_cast<double>(row[i]));
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::exp(row[i] - most);
  std::vector<double> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) out[static_cast<size_t>(i)] = row[i] - most - std::log(sum);
  return out;
}

struct Tally {
  double kl = 0, loss_path = 0, loss_reference = 0;
  int64_t positions = 0, same_top = 0, predicted = 0, not_finite = 0;
};

// One window: row r predicts tokens[r + 1].
void Add(const Logits& reference, const Logits& path, const std::vector<int64_t>& tokens,
         Tally* tally) {
  for (int64_t r = 0; r < path.rows; ++r) {
    const int64_t n = path.vocabulary;
    const auto finite = [&](const float* row) {
      return std::all_of(row, row + n, [](float v) { return std::isfinite(v); });
    };
    if (!finite(path.row(r)) || !finite(reference.row(r))) {
      ++tally->not_finite;
      continue;
    }
    const auto p = LogSoftmax(reference.row(r), n), q = LogSoftmax(path.row(r), n);
    double kl = 0;
    for (size_t i = 0; i < p.size(); ++i) kl += std::exp(p[i]) * (p[i] - q[i]);
    tally->kl += kl;
    ++tally->positions;
    const auto top = [](const std::vector<double>& v) {
      return std::max_element(v.begin(), v.end()) - v.begin();
    };
    if (top(p) == top(q)) ++tally->same_top;
    if (static_cast<size_t>(r) + 1 < tokens.size()) {
      tally->loss_reference -= p[static_cast<size_t>(tokens[static_cast<size_t>(r) + 1])];
      tally->loss_path -= q[static_cast<size_t>(tokens[static_cast<size_t>(r) + 1])];
      ++tally->predicted;
    }
  }
}

// Windows of held text as text: whole lines, about `bytes` each, spread over the file.
std::vector<std::string> Windows(const std::string& text, int64_t count, int64_t bytes) {
  std::vector<std::string> windows;
  const size_t stride = text.size() / static_cast<size_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    size_t begin = static_cast<size_t>(i) * stride;
    if (begin != 0) begin = text.find('\n', begin);
    if (begin == std::string::npos) break;
    if (begin != 0) ++begin;
    size_t end = text.find('\n', std::min(text.size(), begin + static_cast<size_t>(bytes)));
    if (end == std::string::npos) end = text.size();
    if (end > begin) windows.push_back(text.substr(begin, end - begin));
  }
  return windows;
}

struct Scored {
  std::vector<std::vector<int64_t>> tokens;
  std::vector<Logits> logits;
  std::vector<std::string> labels;
};

fg::Result<Scored> ScoreAll(RunContext& context, const Variables& variables,
                            const std::string& model, const std::vector<std::string>& windows) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(Arm::kHead, variables, model));
  Scored scored;
  for (size_t i = 0; i < windows.size(); ++i) {
    const std::string name = fmt::format("w{}", i);
    FG_ASSIGN_OR_RETURN(const Json answer, engine.Ask({{"request", "generate"},
                                                       {"session", name},
                                                       {"prompt", windows[i]},
                                                       {"max_tokens", 0}}));
    scored.tokens.push_back(answer.value("prompt_tokens", std::vector<int64_t>{}));
    FG_ASSIGN_OR_RETURN(Logits logits, Score(context, engine, scored.tokens.back(), 0, name));
    scored.logits.push_back(std::move(logits));
  }
  FG_ASSIGN_OR_RETURN(const Json ledger, engine.Ask({{"request", "ledger"}}));
  scored.labels = LedgerLabels(ledger);
  return scored;
}

std::optional<std::string> Beyond(double value, const Tolerance& tolerance, bool at_least,
                                  const char* what) {
  const bool inside = at_least ? value >= tolerance.value : value <= tolerance.value;
  if (inside) return std::nullopt;  // a NaN is never inside
  return fmt::format("{} is {:.6g}, tolerance {} wants {} {:.6g} ({})", what, value, tolerance.name,
                     at_least ? "at least" : "at most", tolerance.value, tolerance.cause);
}

fg::Result<CellResult> Judge(RunContext& context, const CellId& cell) {
  FG_ASSIGN_OR_RETURN(const std::string text,
                      fg::ReadFile(context.project().Path(context.spec().Text("text"))));
  const auto windows =
      Windows(text, context.spec().Integer("windows"), context.spec().Integer("window_bytes"));
  const Variables variables =
      context.gate() != nullptr ? context.OptIn(*context.gate()) : Variables{};
  FG_ASSIGN_OR_RETURN(const Scored reference, ScoreAll(context, {}, cell.model + "@f32", windows));
  FG_ASSIGN_OR_RETURN(const Scored path, ScoreAll(context, variables, cell.model, windows));
  Tally tally;
  for (size_t i = 0; i < windows.size(); ++i)
    Add(reference.logits[i], path.logits[i], path.tokens[i], &tally);
  const double positions = static_cast<double>(tally.positions);
  const double kl = tally.kl / positions;
  const double top1 = static_cast<double>(tally.same_top) / positions;
  const double predicted = static_cast<double>(tally.predicted);
  const double ppl_path = std::exp(tally.loss_path / predicted);
  const double ppl_reference = std::exp(tally.loss_reference / predicted);
  const auto tolerance = [&](const char* aspect) -> const Tolerance& {
    return *context.matrix().FindTolerance(context.spec().agreement.at(aspect));
  };
  std::optional<std::string> fault;
  if (tally.not_finite != 0)
    fault = fmt::format("{} positions had a logit that is not finite", tally.not_finite);
  if (!fault && (tally.positions == 0 || tally.predicted == 0)) fault = "no position was compared";
  if (!fault) fault = Beyond(kl, tolerance("kl"), false, "mean KL divergence (nats)");
  if (!fault) fault = Beyond(top1, tolerance("top1"), true, "top-1 agreement");
  if (!fault)
    fault =
        Beyond(ppl_path / ppl_reference, tolerance("perplexity"), false, "ratio of perplexities");
  if (!fault) fault = Beyond(ppl_path, tolerance("held"), false, "perplexity on held text");
  CellResult result;
  if (fault) {
    result = CellResult::Fail("quality", *fault);
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement = tolerance("kl").name;
  result.labels = path.labels;
  result.figures = {{"positions", tally.positions},
                    {"windows", windows.size()},
                    {"kl_mean_nats", kl},
                    {"top1_agreement", top1},
                    {"perplexity", ppl_path},
                    {"perplexity_f32", ppl_reference},
                    {"not_finite", tally.not_finite},
                    {"tolerances",
                     {{"kl", tolerance("kl").value},
                      {"top1", tolerance("top1").value},
                      {"perplexity", tolerance("perplexity").value},
                      {"held", tolerance("held").value}}}};
  return result;
}

}  // namespace

CellResult RunQuality(RunContext& context, const CellId& cell) {
  auto result = Judge(context, cell);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
