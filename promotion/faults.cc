#include "promotion/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/nearest.h"
#include "base/process.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

constexpr std::chrono::seconds kLimit{30};
constexpr size_t kMostBytes = 1 << 20;

Result<PlantedFault> ReadFault(const Json& entry, size_t index) {
  PlantedFault fault;
  fg::JsonFields fields(entry, fmt::format("faults[{}]", index));
  fields.Required("name", &fault.name);
  fields.Required("description", &fault.description);
  fields.Required("kinds", &fault.kinds);
  fields.Optional("device", &fault.device);
  FG_RETURN_IF_ERROR(fields.Finish());
  if (fault.name.empty()) fields.Mistake("name", "is empty");
  // The name becomes a folder of the results.
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (!std::all_of(fault.name.begin(), fault.name.end(), plain))
    fields.Mistake("name", "may hold letters, digits, '_' and '-'");
  FG_RETURN_IF_ERROR(fields.Finish());
  return fault;
}

}  // namespace

Result<std::vector<PlantedFault>> ParseFaults(const std::string& text) {
  FG_ASSIGN_OR_RETURN(const Json json, fg::ParseJson(text, "faults"));
  if (!json.is_array()) {
    return Status(ErrorKind::kUsage,
                  std::string("faults: must be a list, is ") + fg::JsonTypeName(json));
  }
  std::vector<PlantedFault> faults;
  std::set<std::string> names;
  for (size_t i = 0; i < json.size(); ++i) {
    FG_ASSIGN_OR_RETURN(PlantedFault fault, ReadFault(json[i], i));
    if (!names.insert(fault.name).second)
      return Status(ErrorKind::kUsage, fmt::format("faults[{}]: '{}' stands twice", i, fault.name));
    faults.push_back(std::move(fault));
  }
  return faults;
}

Result<std::vector<PlantedFault>> AskFaults(const std::vector<std::string>& engine) {
  fg::ProcessSpec spec;
  spec.argv = engine;
  spec.argv.insert(spec.argv.end(), {"faults", "--json"});
  spec.environment = fg::PassedEnvironment({"PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH"});
  const std::string what = "head's `faults --json`";
  const auto ran = fg::RunProcess(spec, {.timeout = kLimit, .output_limit = kMostBytes});
  if (!ran.ok()) return ran.status().WithContext(what);
  if (ran->timed_out || !ran->exit.ok()) {
    return Status(
        ErrorKind::kIo,
        fmt::format("{}: {}{}", what, ran->timed_out ? "no end within 30 s" : ran->exit.Text(),
                    ran->err.empty() ? "" : ": " + ran->err));
  }
  auto faults = ParseFaults(ran->out);
  if (!faults.ok()) return Status(ErrorKind::kIo, what + ": " + faults.status().message());
  return faults;
}

Status CheckFaultKinds(const std::vector<PlantedFault>& faults,
                       const std::vector<std::string>& kinds) {
  for (const PlantedFault& fault : faults) {
    for (const std::string& kind : fault.kinds) {
      if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) continue;
      return Status(ErrorKind::kUsage,
                    fmt::format("fault '{}' lists the kind '{}', which this suite does not know{}",
                                fault.name, kind, fg::DidYouMean(kind, kinds)));
    }
  }
  return Status::Ok();
}

}  // namespace flipgate
