#include "engine/probe/answers.h"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string_view>

#include "engine/gates_defaults.h"
#include "kernels/cpu/cpu_level.h"

namespace fg {
namespace {

uint64_t PhysicalMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

// "90a, 80" as a list.
Json ArchitecturesOf(const DeviceInfo& device) {
  Json list = Json::array();
  std::istringstream words(device.architectures);
  for (std::string word; std::getline(words, word, ',');) {
    const size_t first = word.find_first_not_of(' ');
    if (first != std::string::npos) list.push_back(word.substr(first));
  }
  return list;
}

Json DeviceJsonOf(const Gates& gates, const DeviceInfo& device) {
  return {{"class", gates.hardware_class()},
          {"name", device.name},
          {"driver", device.driver},
          {"memory_bytes", device.memory_bytes},
          {"threads", gates.settings().threads},
          {"multiprocessors", device.multiprocessors},
          {"capability", device.hardware_class},
          {"native", device.native},
          {"cublaslt", device.cublaslt}};
}

// What this process has at hand.
Json Capabilities(const Gates& gates, const DeviceInfo* device) {
  Json list = {"load", "generate", "score", "bench", "op", "ledger", "memory", "reset", "argmax"};
  const Settings& settings = gates.settings();
  if (device != nullptr && settings.capture && !settings.sync_launch) list.push_back("capture");
  return list;
}

}  // namespace

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Json GatesJson(const Gates& gates) {
  Json array = Json::array();
  for (const GateState& state : gates.states()) {
    array.push_back({{"name", state.name},
                     {"kind", state.kind},
                     {"stage", GateStageName(state.stage)},
                     {"bits", state.bits},
                     {"needs", state.needs},
                     {"env", state.env ? Json(*state.env) : Json(nullptr)},
                     {"value", state.value}});
    if (!state.modes.empty()) array.back()["modes"] = state.modes;
  }
  return array;
}

Json PeculiarJson(const Gates& gates) {
  Json array = Json::array();
  for (const PeculiarVariable& peculiar : gates.peculiar()) {
    array.push_back({{"variable", peculiar.variable},
                     {"value", peculiar.value},
                     {"message", peculiar.message},
                     {"nearest", peculiar.nearest}});
  }
  return array;
}

Json BuildJson(const BuildInfo& build, const std::string& defaults_hash, const std::string& sha256,
               const DeviceInfo* device) {
  return {{"version", build.version},
          {"commit", build.commit},
          {"engine_hash", build.engine_hash},
          {"defaults_hash", defaults_hash},
          {"dirty", build.dirty},
          {"recipe", build.recipe},
          {"sha256", sha256},
          {"toolchain",
           {{"compiler", build.compiler},
            {"flags", build.flags},
            {"toolkit", device != nullptr ? device->runtime : std::string()},
            {"architectures", device != nullptr ? ArchitecturesOf(*device) : Json::array()}}}};
}

Json DeviceJson(const Gates& gates, const DeviceInfo* device) {
  if (device != nullptr) return DeviceJsonOf(gates, *device);
  Json levels = Json::array();
  for (const CpuLevel level : SupportedCpuLevels()) levels.push_back(CpuLevelName(level));
  return {{"class", gates.hardware_class()},
          {"name", ProcessorName()},
          {"driver", ""},
          {"memory_bytes", PhysicalMemory()},
          {"levels", levels},
          {"level", CpuLevelName(gates.settings().cpu_level)},
          {"threads", gates.settings().threads}};
}

Json HelloJson(const Gates& gates, const DeviceInfo* device) {
  const std::string defaults_hash = DefaultsHash(DefaultsOf(gates.hardware_class()));
  return {{"protocol", 1},
          {"engine", "fg-engine"},
          {"build", BuildJson(ThisBuild(), defaults_hash, RunningProgramSha256(), device)},
          {"device", DeviceJson(gates, device)},
          {"gates", GatesJson(gates)},
          {"settings", gates.settings_set()},
          {"faults", gates.faults().names()},
          {"peculiar", PeculiarJson(gates)},
          {"capabilities", Capabilities(gates, device)}};
}

Json ModelJson(const ModelSummary& model) {
  return {{"sha256", model.sha256},     {"architecture", model.architecture},
          {"name", model.name},         {"layers", model.layers},
          {"width", model.width},       {"ffn", model.ffn},
          {"heads", model.heads},       {"kv_heads", model.kv_heads},
          {"head_dim", model.head_dim}, {"vocabulary", model.vocabulary},
          {"context", model.context},   {"tensors", model.tensors},
          {"w16", model.w16},           {"w16_values", model.w16_values}};
}

Json PlanesJson(const LoadReport& report) {
  Json array = Json::array();
  for (const PlaneCount& count : report.planes) {
    array.push_back({{"plane", count.plane},
                     {"type", count.type},
                     {"gate", count.gate},
                     {"weights", count.weights},
                     {"bytes", count.bytes}});
  }
  return array;
}

Json FuseModeJson(const LoadReport& report) {
  return {{"asked", std::to_string(report.fuse_asked)}, {"mode", std::to_string(report.fuse_mode)}};
}

Json DegradationsJson(const std::vector<Degradation>& degradations) {
  Json array = Json::array();
  for (const Degradation& entry : degradations) {
    array.push_back({{"from", entry.from}, {"to", entry.to}, {"reason", entry.reason}});
  }
  return array;
}

Json DispatchJson(const std::map<Ledger::DispatchKey, uint64_t>& dispatch) {
  Json array = Json::array();
  for (const auto& [key, count] : dispatch) {
    const auto& [phase, op, label] = key;
    array.push_back({{"phase", PhaseName(phase)}, {"op", op}, {"label", label}, {"count", count}});
  }
  return array;
}

Json LedgerJson(const Ledger::Counts& counts) {
  Json launches = Json::object(), reads = Json::array();
  for (int i = 0; i < kPhases; ++i) {
    launches[PhaseName(static_cast<Phase>(i))] = counts.launches[i];
  }
  for (const auto& [key, count] : counts.gate_reads) {
    reads.push_back({{"gate", key.first}, {"phase", PhaseName(key.second)}, {"count", count}});
  }
  const auto forwards = [&](Phase phase) { return counts.forwards[static_cast<size_t>(phase)]; };
  return {
      {"forwards", {{"prefill", forwards(Phase::kPrefill)}, {"decode", forwards(Phase::kDecode)}}},
      {"dispatch", DispatchJson(counts.dispatch)},
      {"launches", launches},
      {"gate_reads", reads},
      {"degradations", DegradationsJson(counts.degradations)},
      {"refusals", counts.refusals},
      {"graphs",
       {{"built", counts.graphs_built},
        {"reused", counts.graphs_reused},
        {"identities", counts.graph_identities}}},
      {"captures", counts.captures},
      {"replays", counts.replays},
      {"plane_cache", {{"hits", counts.plane_hits}, {"misses", counts.plane_misses}}}};
}

Json MemoryJson(const MemoryBook& book, const SystemMemory& system,
                const std::optional<DeviceMemory>& device) {
  Json categories = Json::object();
  for (int i = 0; i < kMemoryCategories; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const MemoryBook::Entry& entry = book.entry(category);
    categories[MemoryCategoryName(category)] = {
        {"now", entry.now}, {"peak", entry.peak}, {"file_backed", entry.file_backed}};
  }
  Json json = {{"categories", categories},
               {"system",
                {{"anonymous", system.anonymous},
                 {"file_backed", system.file_backed},
                 {"peak_resident", system.peak_resident}}}};
  if (device) {
    json["device"] = {
        {"total", device->total}, {"used", device->used}, {"used_before", device->used_before}};
  }
  return json;
}

std::string KernelOf(const std::string& message) {
  constexpr std::string_view kWord = "kernel ";
  for (size_t at = message.find(kWord); at != std::string::npos; at = message.find(kWord, at + 1)) {
    if (at != 0 && (at < 2 || message.compare(at - 2, 2, ": ") != 0)) continue;
    const size_t name = at + kWord.size();
    const size_t end = message.find(": ", name);
    if (end != std::string::npos) return message.substr(name, end - name);
  }
  return "";
}

}  // namespace fg
