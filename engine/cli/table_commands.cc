// The commands that print what is compiled in, and those that hand on to another part.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "engine/cli/commands.h"
#include "engine/gates_defaults.h"
#include "engine/gguf/quantize.h"
#include "engine/probe/answers.h"
#include "engine/probe/server.h"

namespace fg {

void PrintJson(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Status GatesCommand(const Gates& gates, bool json) {
  const std::string& hardware_class = gates.hardware_class();
  const auto& compiled = CompiledDefaults();
  const bool known = std::any_of(compiled.begin(), compiled.end(), [&](const ClassDefaults& row) {
    return row.hardware_class == hardware_class;
  });
  if (!known) {
    std::fprintf(stderr,
                 "fg-engine: promotion/defaults.yaml names no class '%s'; every gate is opt_in\n",
                 hardware_class.c_str());
  }
  const ClassDefaults defaults = DefaultsOf(hardware_class);
  if (json) {
    Json list = GatesJson(gates);
    for (size_t i = 0; i < defaults.gates.size(); ++i) {
      list[i]["default"] = defaults.gates[i].stage == GateStage::kPromoted ? defaults.gates[i].value
                                                                           : std::string("0");
    }
    PrintJson({{"class", hardware_class},
               {"defaults_hash", DefaultsHash(defaults)},
               {"gates", std::move(list)},
               {"settings", gates.settings_set()},
               {"peculiar", PeculiarJson(gates)}});
    return Status::Ok();
  }
  std::string text = fmt::format("class {}\n{:<18} {:<9} {:<6} {:<6} {:<12} {}\n", hardware_class,
                                 "gate", "stage", "value", "bits", "variable", "needs");
  for (const GateState& state : gates.states()) {
    text += fmt::format("{:<18} {:<9} {:<6} {:<6} {:<12} {}\n", state.name,
                        GateStageName(state.stage), state.value, state.bits,
                        state.env ? QuoteValue(*state.env) : "unset", fmt::join(state.needs, ", "));
  }
  std::fputs(text.c_str(), stdout);
  return Status::Ok();
}

Status FaultsCommand(bool json) {
  if (json) {
    Json list = Json::array();
    for (const FaultInfo& info : AllFaults()) {
      list.push_back({{"name", info.name},
                      {"description", info.description},
                      {"kinds", info.kinds},
                      {"device", info.device}});
    }
    PrintJson(list);
    return Status::Ok();
  }
  std::string text;
  for (const FaultInfo& info : AllFaults()) {
    text += fmt::format("{:<20} {:<4} {}; must turn red: {}\n", info.name, info.device,
                        info.description, fmt::join(info.kinds, ", "));
  }
  std::fputs(text.c_str(), stdout);
  return Status::Ok();
}

Status QuantizeCommand(const std::string& input, const std::string& output, const std::string& mix,
                       bool json) {
  FG_ASSIGN_OR_RETURN(const QuantizeSummary summary, QuantizeFile(input, output, mix));
  if (json) {
    Json types = Json::object();
    for (const auto& [name, count] : summary.tensors_per_type) types[name] = count;
    PrintJson({{"input", input},
               {"output", output},
               {"mix", mix},
               {"input_bytes", summary.input_bytes},
               {"output_bytes", summary.output_bytes},
               {"tensors", types},
               {"fallbacks", summary.fallbacks}});
    return Status::Ok();
  }
  for (const std::string& fallback : summary.fallbacks) {
    std::fprintf(stderr, "fg-engine: %s\n", fallback.c_str());
  }
  std::string types;
  for (const auto& [name, count] : summary.tensors_per_type) {
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, name);
  }
  std::printf("%s: %llu bytes from %llu (%s)\n", output.c_str(),
              static_cast<unsigned long long>(summary.output_bytes),
              static_cast<unsigned long long>(summary.input_bytes), types.c_str());
  return Status::Ok();
}

Status ProbeCommand(const CliContext& context) {
  ProbeServer server(context.device, context.gates, context.ledger,
                     [&](const std::string& path, const EngineOptions& options) {
                       return Engine::Load(path, options, context.device, context.gates,
                                           context.ledger);
                     });
  const Status served = server.Serve(STDIN_FILENO, STDOUT_FILENO);
  // Whoever spoke to it is gone: the machine's doing, not that of a path that was given.
  return served.ok() ? served : Status(ErrorKind::kDevice, served.message());
}

}  // namespace fg
