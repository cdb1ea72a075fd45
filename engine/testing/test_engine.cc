#include "engine/testing/test_engine.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace fg::testing {
namespace {

void DieUnless(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "test engine: %s\n", status.message().c_str());
  std::abort();
}

}  // namespace

Gates GatesOf(const std::vector<std::string>& environment, Ledger* ledger) {
  std::vector<std::string> with_threads = environment;
  const bool told =
      std::any_of(environment.begin(), environment.end(),
                  [](const std::string& text) { return text.starts_with("FG_THREADS="); });
  if (!told) with_threads.push_back("FG_THREADS=1");
  Result<Gates> gates = Gates::FromEnvironment(with_threads, "other", ledger);
  DieUnless(gates.status());
  return std::move(gates).value();
}

TestEngine::TestEngine(const std::string& path, const std::vector<std::string>& environment,
                       const EngineOptions& options)
    : gates(GatesOf(environment, &ledger)) {
  auto loaded = Engine::Load(path, options, device, gates, &ledger);
  DieUnless(loaded.status());
  engine = std::move(loaded).value();
}

std::vector<float> TestEngine::Logits(std::span<const int32_t> tokens, size_t first,
                                      const ForwardOptions& options) {
  auto session = engine->NewSession();
  DieUnless(session.status());
  std::vector<float> logits;
  DieUnless((*session)->Forward(tokens, first, options, &logits));
  return logits;
}

}  // namespace fg::testing
