#include "engine/probe/answers.h"

#include <unistd.h>

#include <fstream>

#include "engine/gates_defaults.h"
#include "kernels/cpu/cpu_level.h"

namespace fg {
namespace {

// The processor's name as the kernel tells it; "unknown" where it does not.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

uint64_t PhysicalMemory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return 0;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

}  // namespace

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

Json BuildJson(const BuildInfo& build, const std::string& defaults_hash,
               const std::string& sha256) {
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
            {"toolkit", ""},
            {"architectures", Json::array()}}}};
}

Json DeviceJson(const Gates& gates) {
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

Json HelloJson(const Gates& gates) {
  const std::string defaults_hash = DefaultsHash(DefaultsOf(gates.hardware_class()));
  return {
      {"protocol", 1},
      {"engine", "fg-engine"},
      {"build", BuildJson(ThisBuild(), defaults_hash, RunningProgramSha256())},
      {"device", DeviceJson(gates)},
      {"gates", GatesJson(gates)},
      {"settings", gates.settings_set()},
      {"faults", gates.faults().names()},
      {"peculiar", PeculiarJson(gates)},
      {"capabilities", {"load", "generate", "score", "bench", "op", "ledger", "memory", "reset"}}};
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
  // Nothing is captured on this backend, so those counts are zero.
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
      {"captures", 0},
      {"replays", 0},
      {"plane_cache", {{"hits", counts.plane_hits}, {"misses", counts.plane_misses}}}};
}

Json MemoryJson(const MemoryBook& book, const SystemMemory& system) {
  Json categories = Json::object();
  for (int i = 0; i < kMemoryCategories; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const MemoryBook::Entry& entry = book.entry(category);
    categories[MemoryCategoryName(category)] = {
        {"now", entry.now}, {"peak", entry.peak}, {"file_backed", entry.file_backed}};
  }
  return {{"categories", categories},
          {"system",
           {{"anonymous", system.anonymous},
            {"file_backed", system.file_backed},
            {"peak_resident", system.peak_resident}}}};
}

}  // namespace fg
