#include "engine/probe/bench.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace fg {
namespace {

// Ids spread over the vocabulary, the same in every run.
std::vector<int32_t> FixedTokens(const Engine& engine, int64_t count) {
  std::vector<int32_t> tokens(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    tokens[static_cast<size_t>(i)] =
        static_cast<int32_t>((i * 7919 + 13) % engine.summary().vocabulary);
  }
  return tokens;
}

// A session whose first `context` positions are filled.
Result<std::unique_ptr<Session>> FilledSession(Engine& engine, std::span<const int32_t> ids,
                                               int64_t context) {
  FG_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine.NewSession());
  if (context > 0) {
    const size_t count = static_cast<size_t>(context);
    FG_RETURN_IF_ERROR(session->Forward(ids.first(count), count, {}, nullptr));
  }
  return session;
}

// Runs `tokens` and takes the id of the last one's highest logit, as a greedy answer does.
Status RunForHighest(Session& session, std::span<const int32_t> tokens) {
  std::vector<int32_t> highest;
  ForwardOptions options;
  options.argmax = &highest;
  return session.Forward(tokens, tokens.size() - 1, options, nullptr);
}

// A device captures a step at its second run.
int64_t WarmUps(const Engine& engine) { return engine.device_memory() ? 2 : 1; }

// Runs `work` uncounted, then counts; before each the session is cut back to `start`.
Result<BenchSeries> Measure(const Engine& engine, Session& session, int64_t start, int64_t tokens,
                            int64_t repetitions, const std::function<Status()>& work) {
  const int64_t warm_ups = WarmUps(engine);
  BenchSeries series;
  series.tokens = tokens;
  for (int64_t i = 0; i < warm_ups + repetitions; ++i) {
    FG_RETURN_IF_ERROR(session.Truncate(start));
    const auto begin = std::chrono::steady_clock::now();
    FG_RETURN_IF_ERROR(work());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (i >= warm_ups) series.seconds.push_back(took.count());
  }
  return series;
}

}  // namespace

std::vector<double> BenchSeries::TokensPerSecond() const {
  std::vector<double> rates;
  for (const double time : seconds) {
    // A clock that did not move would give infinity, which JSON cannot say.
    rates.push_back(static_cast<double>(tokens) / std::max(time, 1e-9));
  }
  return rates;
}

Status CheckBenchFits(const Engine& engine, int64_t tokens, int64_t context) {
  if (tokens <= engine.context() - context) return Status::Ok();
  return Status(ErrorKind::kBadRequest, std::to_string(tokens) + " tokens after " +
                                            std::to_string(context) +
                                            " do not fit the context of " +
                                            std::to_string(engine.context()) + " positions");
}

Result<BenchSeries> BenchPrefill(Engine& engine, int64_t tokens, int64_t repetitions,
                                 int64_t context) {
  FG_RETURN_IF_ERROR(CheckBenchFits(engine, tokens, context));
  const std::vector<int32_t> ids = FixedTokens(engine, context + tokens);
  FG_ASSIGN_OR_RETURN(const auto session, FilledSession(engine, ids, context));
  const auto prompt = std::span(ids).subspan(static_cast<size_t>(context));
  return Measure(engine, *session, context, tokens, repetitions,
                 [&] { return RunForHighest(*session, prompt); });
}

Result<BenchSeries> BenchDecode(Engine& engine, int64_t tokens, int64_t context,
                                int64_t repetitions) {
  FG_RETURN_IF_ERROR(CheckBenchFits(engine, tokens, context));
  const std::vector<int32_t> ids = FixedTokens(engine, context + tokens);
  FG_ASSIGN_OR_RETURN(const auto session, FilledSession(engine, ids, context));
  const std::span<const int32_t> all(ids);
  return Measure(engine, *session, context, tokens, repetitions, [&] {
    for (int64_t i = 0; i < tokens; ++i) {
      FG_RETURN_IF_ERROR(RunForHighest(*session, all.subspan(static_cast<size_t>(context + i), 1)));
    }
    return Status::Ok();
  });
}

Result<KernelSeries> BenchKernels(Engine& engine, int64_t tokens, int64_t context) {
  FG_RETURN_IF_ERROR(CheckBenchFits(engine, tokens, context));
  const std::vector<int32_t> ids = FixedTokens(engine, context + tokens);
  FG_ASSIGN_OR_RETURN(const auto session, FilledSession(engine, ids, context));
  if (!engine.TimeKernels(true)) {
    return Status(ErrorKind::kBadRequest, "this device times no kernels");
  }
  KernelSeries series;
  const auto last = std::span(ids).subspan(static_cast<size_t>(context));
  const auto measured = Measure(engine, *session, context, tokens, 1, [&] {
    engine.TakeKernelTimes();
    return RunForHighest(*session, last);
  });
  series.kernels = engine.TakeKernelTimes();
  engine.TimeKernels(false);
  FG_RETURN_IF_ERROR(measured.status());
  series.seconds = measured->seconds[0];
  return series;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace fg
