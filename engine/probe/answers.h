// The parts of the probe's answers that other front ends print too. docs/probe.md.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "engine/backend/backend_factory.h"
#include "engine/build_info.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/memory_book.h"
#include "engine/session/engine.h"

namespace fg {

Json GatesJson(const Gates& gates);     // array, one object a gate
Json PeculiarJson(const Gates& gates);  // array
Json BuildJson(const BuildInfo& build, const std::string& defaults_hash, const std::string& sha256,
               const DeviceInfo* device = nullptr);
std::string ProcessorName();  // as the kernel tells it; "unknown" where it does not
// `device` is null on the CPU.
Json DeviceJson(const Gates& gates, const DeviceInfo* device = nullptr);
Json HelloJson(const Gates& gates, const DeviceInfo* device = nullptr);  // without the envelope
Json ModelJson(const ModelSummary& model);
Json PlanesJson(const LoadReport& report);    // array, one object a kind of weight plane
Json FuseModeJson(const LoadReport& report);  // asked and resolved
Json DegradationsJson(const std::vector<Degradation>& degradations);
Json DispatchJson(const std::map<Ledger::DispatchKey, uint64_t>& dispatch);
Json LedgerJson(const Ledger::Counts& counts);
Json MemoryJson(const MemoryBook& book, const SystemMemory& system,
                const std::optional<DeviceMemory>& device = std::nullopt);

// The kernel that an error's message blames: NAME of "...kernel NAME: ..."
// (engine/backend/device_plugin.h); empty where it blames none.
std::string KernelOf(const std::string& message);

}  // namespace fg
