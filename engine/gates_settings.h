// Settings beside the gates, and what any switch in the environment means. docs/gates.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kernels/cpu/cpu_level.h"

namespace fg {

// Resolved.
struct Settings {
  CpuLevel cpu_level = CpuLevel::kPlain;  // FG_CPU_LEVEL, default the best supported
  int threads = 1;                        // FG_THREADS, default the processors this process may use
  bool prefill_gemm = true;               // FG_PREFILL_GEMM=0 forces the per-row kernels
  bool strict_env = false;                // FG_STRICT_ENV=1 makes every peculiarity an error
  std::optional<int64_t> plane_limit_mib;  // FG_PLANE_LIMIT_MIB: most MiB of weight planes
  // Of another device than the CPU, which leaves them unused.
  bool sync_launch = false;  // FG_SYNC_LAUNCH=1: each launch is waited for and checked, nothing is
                             // captured
  bool capture = true;       // FG_CAPTURE=0: every step runs eagerly
  bool clear_outputs = false;  // FG_CLEAR_OUTPUTS=1: a GEMM's output is zeroed before it
  std::string cublaslt_path;   // FG_CUBLASLT_PATH: a file or a folder; empty searches
  std::string device_class;    // FG_DEVICE_CLASS: the class to report; empty for the device's own
  // The readers of intermediate values (docs/readers.md); empty where none is asked for.
  std::string graph_dump;  // FG_GRAPH_DUMP: a file
  std::string dump_dir;    // FG_DUMP_DIR: a folder
  std::string trace;       // FG_TRACE: a file
  std::string live;        // FG_LIVE: a port of 127.0.0.1

  // The variables of the readers that are asked for, in the order of the registry.
  std::vector<std::string> Readers() const;
};

struct SettingEntry {
  const char* name;
  bool is_switch;
};
const std::vector<SettingEntry>& SettingTable();

// `text` is the variable's value, nothing when it is unset or empty. Any text but "0" is ON.
bool SwitchIsOn(const std::optional<std::string>& text, bool when_unset);

// What to say of a switch set to `text`; nothing for "0", "1" and words for yes. `what` is "the
// gate", "it".
std::optional<std::string> SwitchPeculiarity(const std::string& name, const std::string& text,
                                             const std::string& what);

// What a mode set to `text` is: the text where it is one of `modes`, else the first of them.
std::string ModeOf(const std::optional<std::string>& text, const std::vector<std::string>& modes,
                   const std::string& when_unset);

// What to say of a mode set to `text`; nothing for one of `modes`.
std::optional<std::string> ModePeculiarity(const std::string& name, const std::string& text,
                                           const std::vector<std::string>& modes);

// `text` in single quotes; bytes that are not printable ASCII as \xNN.
std::string QuoteValue(std::string_view text);

// kUsage with the nearest name, or with what this processor has.
Result<CpuLevel> ReadCpuLevel(const std::string& text, const std::vector<CpuLevel>& supported);

constexpr int kMaxThreads = 256;
Result<int> ReadThreads(const std::string& text);         // 1 to kMaxThreads
Result<int> ReadPort(const std::string& text);            // 0 to 65535
Result<int64_t> ReadPlaneLimit(const std::string& text);  // 0 to kMaxPlaneMib
constexpr int64_t kMaxPlaneMib = int64_t{1} << 30;
int ThreadsByDefault();  // processors that this process may run on, at most kMaxThreads

}  // namespace fg
