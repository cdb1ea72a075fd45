#include "engine/backend/cuda/device_class.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "engine/gates_defaults.h"
#include "engine/gates_settings.h"

namespace fg {
namespace {

constexpr char kOther[] = "other";

// 90 of "sm_90"; nothing for a class that is no GPU's.
std::optional<int> NumberOf(std::string_view name) {
  constexpr std::string_view kPrefix = "sm_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  if (read.ec != std::errc() || read.ptr != name.data() + name.size()) return std::nullopt;
  return number;
}

// Classes that FG_DEVICE_CLASS may name.
std::vector<std::string> GpuClasses() {
  std::vector<std::string> names;
  for (const ClassDefaults& defaults : CompiledDefaults()) {
    if (NumberOf(defaults.hardware_class)) names.push_back(defaults.hardware_class);
  }
  names.push_back(kOther);
  return names;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// One entry of CMake's list of architectures.
struct Architecture {
  std::string name;  // "90a"
  ComputeCapability capability;
  bool exact = false;  // bears a letter: no other capability runs it
  bool real = true, ptx = true;
};

std::vector<Architecture> Parse(const std::string& architectures) {
  std::vector<Architecture> parsed;
  std::istringstream words(architectures);
  for (std::string word; words >> word;) {
    Architecture one;
    const size_t dash = word.find('-');
    one.name = word.substr(0, dash);
    one.real = dash == std::string::npos || word.substr(dash) == "-real";
    one.ptx = dash == std::string::npos || word.substr(dash) == "-virtual";
    int number = 0;
    const char* end = one.name.data() + one.name.size();
    one.exact = std::from_chars(one.name.data(), end, number).ptr != end;
    one.capability = {number / 10, number % 10};
    parsed.push_back(one);
  }
  return parsed;
}

}  // namespace

std::string ClassOfCapability(ComputeCapability capability) {
  const std::string name = "sm_" + std::to_string(capability.number());
  for (const ClassDefaults& defaults : CompiledDefaults()) {
    if (defaults.hardware_class == name) return name;
  }
  return kOther;
}

Result<std::string> ReportedClass(ComputeCapability capability, const std::string& asked) {
  if (asked.empty()) return ClassOfCapability(capability);
  const std::string said = "FG_DEVICE_CLASS=" + QuoteValue(asked);
  const std::vector<std::string> names = GpuClasses();
  bool known = false;
  for (const std::string& name : names) known = known || name == asked;
  if (!known) {
    return Status(ErrorKind::kUsage, said + " is no class of a GPU (" + Joined(names) + ")" +
                                         DidYouMean(asked, names));
  }
  const auto number = NumberOf(asked);
  if (number && *number > capability.number()) {
    return Status(ErrorKind::kUsage,
                  said + ": this device is of capability " + std::to_string(capability.major) +
                      "." + std::to_string(capability.minor) +
                      "; the setting lowers the reported class, it does not raise it");
  }
  return asked;
}

KernelCode KernelCodeFor(const std::string& architectures, ComputeCapability capability) {
  KernelCode code = KernelCode::kNone;
  for (const Architecture& one : Parse(architectures)) {
    const bool same = one.capability == capability;
    const bool later_minor =
        one.capability.major == capability.major && one.capability <= capability;
    if (one.real && (same || (!one.exact && later_minor))) return KernelCode::kNative;
    if (one.ptx && (same || (!one.exact && one.capability <= capability))) code = KernelCode::kPtx;
  }
  return code;
}

std::string ArchitecturesText(const std::string& architectures) {
  std::string real, ptx;
  for (const Architecture& one : Parse(architectures)) {
    if (one.real) real += (real.empty() ? "" : ", ") + one.name;
    if (one.ptx) ptx += (ptx.empty() ? "" : ", ") + one.name;
  }
  if (ptx.empty()) return real;
  return (real.empty() ? "PTX of " : real + ", PTX of ") + ptx;
}

std::string CudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string NoDeviceText(NoDevice reason, int driver, int runtime, const std::string& detail) {
  const std::string needed = CudaVersionText(runtime);
  const std::string instead = ", or run with --device cpu";
  switch (reason) {
    case NoDevice::kNoDriver:
      return "there is no NVIDIA driver here: install one that serves CUDA " + needed + instead;
    case NoDevice::kDriverTooOld:
      return "the NVIDIA driver serves CUDA " + CudaVersionText(driver) +
             ", this build needs CUDA " + needed + ": install a newer driver" + instead;
    case NoDevice::kNone:
      return "the NVIDIA driver sees no GPU: look at nvidia-smi and at CUDA_VISIBLE_DEVICES" +
             instead;
    case NoDevice::kOther:
      break;
  }
  return "the GPU cannot be used: " + detail + ": look at nvidia-smi" + instead;
}

}  // namespace fg
