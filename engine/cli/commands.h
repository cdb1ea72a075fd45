// One function a subcommand of fg-engine. Results go to standard output, everything else to
// standard error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "engine/backend/backend_factory.h"
#include "engine/gates.h"
#include "engine/gguf/synth.h"
#include "engine/ledger.h"
#include "engine/session/generate.h"

namespace fg {

// What every command has at hand.
struct CliContext {
  const Device& device;
  const Gates& gates;
  Ledger* ledger;
  std::span<const std::string> environment;  // that the gates came from
};

// Rows of one forward where nothing else is asked for. A device takes a long prompt at once.
inline int64_t DefaultBatch(const Device& device) { return device.is_cpu() ? 512 : 4096; }

struct RunArguments {
  std::string model, prompt;
  int64_t context = 0;           // 0: the model's
  std::optional<int64_t> batch;  // DefaultBatch
  GenerateOptions generate = {.max_tokens = 128};
  bool interactive = false, stats = false;
};
// Streams the answer to the prompt; interactive, also to each line of standard input, in one
// session.
Status RunCommand(const CliContext& context, const RunArguments& arguments);

// Every test is run for each model, number of threads and depth.
struct BenchArguments {
  std::vector<std::string> models;
  std::vector<int64_t> prompts = {512}, tokens = {128}, depths = {0};  // 0 tokens: no such test
  std::vector<int> threads;                                            // empty: FG_THREADS
  int64_t repetitions = 5;
  std::optional<int64_t> batch;  // DefaultBatch
  std::string form = "md";
  bool kernels = false;  // of a device: its kernels' times, in place of the rates
};
Status BenchCommand(const CliContext& context, const BenchArguments& arguments);

Status InfoCommand(const std::string& model, bool json);
Status QuantizeCommand(const std::string& input, const std::string& output, const std::string& mix,
                       bool json);
Status SynthCommand(const std::string& output, const SynthOptions& options, bool json);
Status GatesCommand(const Gates& gates, bool json);
Status FaultsCommand(bool json);
Status ProbeCommand(const CliContext& context);

// One line, sorted members; bytes that are no UTF-8 become U+FFFD.
void PrintJson(const Json& json);

}  // namespace fg
