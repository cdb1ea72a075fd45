#include "engine/backend/backend_factory.h"

#include <utility>

#include "base/nearest.h"
#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/cpu_operations.h"
#include "engine/backend/plugin_loader.h"

namespace fg {
namespace {

Result<Device> OpenCuda(const DeviceSettings& settings) {
  FG_ASSIGN_OR_RETURN(const auto folders, PluginFoldersOfThisProgram());
  FG_ASSIGN_OR_RETURN(auto plugin,
                      OpenDevicePlugin(kCudaPluginFile, folders, PluginBuild(), settings));
  return Device(std::move(plugin));
}

}  // namespace

std::string Device::hardware_class() const {
  return is_cpu() ? "cpu" : plugin_->info().reported_class;
}

Result<std::unique_ptr<Backend>> Device::NewBackend(const Gates& gates, Ledger* ledger,
                                                    MemoryBook* memory) const {
  if (!is_cpu()) return plugin_->NewBackend(gates, ledger, memory);
  return std::unique_ptr<Backend>(std::make_unique<CpuBackend>(gates, ledger, memory));
}

Result<std::unique_ptr<Operations>> Device::NewOperations(const Gates& gates, Ledger* ledger,
                                                          MemoryBook* memory) const {
  if (!is_cpu()) return plugin_->NewOperations(gates, ledger, memory);
  return std::unique_ptr<Operations>(std::make_unique<CpuOperations>(gates, ledger, memory));
}

Result<ChosenDevice> OpenDevice(const std::string& choice, const DeviceSettings& settings) {
  if (choice == "cpu") return ChosenDevice{};
  if (choice != "cuda" && choice != "auto") {
    return Status(ErrorKind::kUsage, "unknown device '" + choice + "'; known: cpu, cuda, auto" +
                                         DidYouMean(choice, {"cpu", "cuda", "auto"}));
  }
  auto cuda = OpenCuda(settings);
  const bool falls_back = choice == "auto" && cuda.status().kind() == ErrorKind::kDevice;
  if (falls_back) return ChosenDevice{Device(), "device cpu: " + cuda.status().message()};
  if (!cuda.ok()) return cuda.status().WithContext("device " + choice);
  ChosenDevice chosen = {std::move(cuda).value(), ""};
  if (choice == "auto") {
    chosen.said = "device " + chosen.device.hardware_class() + ": " + chosen.device.info()->name;
  }
  return chosen;
}

}  // namespace fg
