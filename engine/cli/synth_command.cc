#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>

#include "engine/cli/commands.h"
#include "engine/gguf/synth.h"

namespace fg {
namespace {

// A percentage that moves on a terminal; elsewhere a line now and then.
class Progress {
 public:
  void operator()(uint64_t done, uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    const uint64_t percent = total == 0 ? 100 : done * 100 / total;
    if (terminal_) {
      if (percent == shown_ || (percent < 100 && now - said_ < std::chrono::milliseconds(100))) {
        return;
      }
      std::fprintf(stderr, "\r%3d %%%s", static_cast<int>(percent), percent == 100 ? "\n" : "");
    } else {
      if (now - said_ < std::chrono::seconds(10)) return;
      std::fprintf(stderr, "fg-engine: %d %% of %llu MiB\n", static_cast<int>(percent),
                   static_cast<unsigned long long>(total >> 20));
    }
    shown_ = percent;
    said_ = now;
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) != 0;
  uint64_t shown_ = 101;
  std::chrono::steady_clock::time_point said_ = std::chrono::steady_clock::now();
};

}  // namespace

Status SynthCommand(const std::string& output, const SynthOptions& options, bool json) {
  const auto begin = std::chrono::steady_clock::now();
  Progress progress;
  FG_ASSIGN_OR_RETURN(const SynthSummary summary, SynthFile(output, options, std::ref(progress)));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (json) {
    Json types = Json::object();
    for (const auto& [name, count] : summary.tensors_per_type) types[name] = count;
    PrintJson({{"output", output},
               {"shape", options.shape},
               {"mix", options.mix},
               {"layers", summary.layers},
               {"seed", options.seed},
               {"parameters", summary.parameters},
               {"output_bytes", summary.output_bytes},
               {"tensors", types},
               {"fallbacks", summary.fallbacks},
               {"seconds", took.count()}});
    return Status::Ok();
  }
  // A reason a line: a deep model has hundreds of tensors.
  std::map<std::string, int> reasons;
  for (const std::string& fallback : summary.fallbacks) {
    ++reasons[fallback.substr(fallback.find(": ") + 2)];
  }
  for (const auto& [reason, count] : reasons) {
    std::fprintf(stderr, "fg-engine: %d tensor%s: %s\n", count, count == 1 ? "" : "s",
                 reason.c_str());
  }
  std::string types;
  for (const auto& [name, count] : summary.tensors_per_type) {
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, name);
  }
  std::printf("%s: %llu bytes, %lld layers, %lld parameters (%s)\n", output.c_str(),
              static_cast<unsigned long long>(summary.output_bytes),
              static_cast<long long>(summary.layers), static_cast<long long>(summary.parameters),
              types.c_str());
  return Status::Ok();
}

}  // namespace fg
