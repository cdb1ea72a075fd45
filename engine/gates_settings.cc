#include "engine/gates_settings.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/nearest.h"

namespace fg {
namespace {

std::string Trimmed(std::string_view text) {
  const auto blank = [](unsigned char c) { return std::isspace(c) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Texts by which a person would mean ON, and get it.
bool ReadsLikeOn(const std::string& text) {
  const std::string word = Lower(text);
  constexpr std::array kWords = {"1", "true", "t", "on", "yes", "y", "enable", "enabled"};
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

// Texts by which a person would mean OFF: words for no, and zeros in other spellings.
bool ReadsLikeOff(const std::string& text) {
  const std::string word = Lower(Trimmed(text));
  constexpr std::array kWords = {"false", "f",       "off",      "no",   "n",
                                 "none",  "disable", "disabled", "never"};
  if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
  return word.find('0') != std::string::npos &&
         word.find_first_not_of("+-0.x") == std::string::npos;
}

}  // namespace

const std::vector<SettingEntry>& SettingTable() {
  static const std::vector<SettingEntry> table = {
      {"FG_CPU_LEVEL", false},       {"FG_THREADS", false},      {"FG_PREFILL_GEMM", true},
      {"FG_FAULT", false},           {"FG_STRICT_ENV", true},    {"FG_GRAPH_DUMP", false},
      {"FG_DUMP_DIR", false},        {"FG_TRACE", false},        {"FG_LIVE", false},
      {"FG_PLANE_LIMIT_MIB", false}, {"FG_SYNC_LAUNCH", true},   {"FG_CAPTURE", true},
      {"FG_CUBLASLT_PATH", false},   {"FG_DEVICE_CLASS", false}, {"FG_CLEAR_OUTPUTS", true},
  };
  return table;
}

std::vector<std::string> Settings::Readers() const {
  std::vector<std::string> names;
  if (!graph_dump.empty()) names.push_back("FG_GRAPH_DUMP");
  if (!dump_dir.empty()) names.push_back("FG_DUMP_DIR");
  if (!trace.empty()) names.push_back("FG_TRACE");
  if (!live.empty()) names.push_back("FG_LIVE");
  return names;
}

bool SwitchIsOn(const std::optional<std::string>& text, bool when_unset) {
  if (!text || text->empty()) return when_unset;
  return *text != "0";
}

std::string QuoteValue(std::string_view text) {
  static const char kDigits[] = "0123456789abcdef";
  std::string quoted = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      quoted += c;
    } else {
      quoted += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    }
  }
  return quoted + "'";
}

std::optional<std::string> SwitchPeculiarity(const std::string& name, const std::string& text,
                                             const std::string& what) {
  if (text == "0" || ReadsLikeOn(text)) return std::nullopt;
  const std::string said = name + "=" + QuoteValue(text);
  if (ReadsLikeOff(text)) {
    return said + " turned " + what + " ON: any value but 0 does; set " + name +
           "=0 to turn it off";
  }
  return said + " counts as 1: " + what + " is ON; a switch knows 0 and 1";
}

std::string ModeOf(const std::optional<std::string>& text, const std::vector<std::string>& modes,
                   const std::string& when_unset) {
  if (!text || text->empty()) return when_unset;
  return std::find(modes.begin(), modes.end(), *text) != modes.end() ? *text : modes.front();
}

std::optional<std::string> ModePeculiarity(const std::string& name, const std::string& text,
                                           const std::vector<std::string>& modes) {
  if (std::find(modes.begin(), modes.end(), text) != modes.end()) return std::nullopt;
  std::string known;
  for (size_t i = 0; i < modes.size(); ++i) {
    known += (i == 0 ? "" : i + 1 == modes.size() ? " and " : ", ") + modes[i];
  }
  const std::string said = name + "=" + QuoteValue(text);
  if (ReadsLikeOff(text)) return said + " counts as " + modes.front() + ": a mode knows " + known;
  return said + " turned the gate OFF: a mode knows " + known + "; set " + name + "=" +
         modes.back() + " to turn it on in full";
}

Result<int64_t> ReadPlaneLimit(const std::string& text) {
  int64_t limit = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), limit);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (whole && limit >= 0 && limit <= kMaxPlaneMib) return limit;
  return Status(ErrorKind::kUsage, "FG_PLANE_LIMIT_MIB=" + QuoteValue(text) +
                                       " must be a whole number of MiB from 0 to " +
                                       std::to_string(kMaxPlaneMib));
}

Result<CpuLevel> ReadCpuLevel(const std::string& text, const std::vector<CpuLevel>& supported) {
  const std::string said = "FG_CPU_LEVEL=" + QuoteValue(text);
  const auto level = ParseCpuLevel(text);
  if (!level) {
    return Status(ErrorKind::kUsage, said + " is no level (plain, avx2, avx512)" +
                                         DidYouMean(text, {"plain", "avx2", "avx512"}));
  }
  if (std::find(supported.begin(), supported.end(), *level) == supported.end()) {
    return Status(ErrorKind::kUsage, said + ": this processor lacks it; its best level is " +
                                         CpuLevelName(supported.back()));
  }
  return *level;
}

Result<int> ReadThreads(const std::string& text) {
  int threads = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), threads);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (whole && threads >= 1 && threads <= kMaxThreads) return threads;
  return Status(ErrorKind::kUsage, "FG_THREADS=" + QuoteValue(text) +
                                       " must be a whole number from 1 to " +
                                       std::to_string(kMaxThreads));
}

Result<int> ReadPort(const std::string& text) {
  int port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (whole && port >= 0 && port <= 65535) return port;
  return Status(ErrorKind::kUsage,
                "FG_LIVE=" + QuoteValue(text) +
                    " must be a port, a whole number from 0 to 65535; 0 picks a free one");
}

int ThreadsByDefault() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, kMaxThreads);
}

}  // namespace fg
