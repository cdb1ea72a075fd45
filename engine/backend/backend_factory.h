// The device that a process runs on, and what makes backends and operations for it.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "engine/backend/backend.h"
#include "engine/backend/device_plugin.h"
#include "engine/backend/operations.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/memory_book.h"

namespace fg {

// The CPU, or the device of an opened plugin. Outlives what it makes. Move-only.
class Device {
 public:
  Device() = default;  // the CPU
  explicit Device(std::unique_ptr<DevicePlugin> plugin) : plugin_(std::move(plugin)) {}

  bool is_cpu() const { return plugin_ == nullptr; }
  const DeviceInfo* info() const { return is_cpu() ? nullptr : &plugin_->info(); }  // null: the CPU
  std::string hardware_class() const;  // that gates go by: "cpu", or the one that is reported

  // All three outlive what is made.
  Result<std::unique_ptr<Backend>> NewBackend(const Gates& gates, Ledger* ledger,
                                              MemoryBook* memory) const;
  Result<std::unique_ptr<Operations>> NewOperations(const Gates& gates, Ledger* ledger,
                                                    MemoryBook* memory) const;

 private:
  std::unique_ptr<DevicePlugin> plugin_;
};

struct ChosenDevice {
  Device device;
  std::string said;  // which one `auto` took and why; else empty
};

// `choice` is "cpu", "cuda" (an error where there is none, never the CPU instead) or "auto" (CUDA
// where there is one, else the CPU). kUsage for another word or a setting that the device refuses;
// kDevice where there is no such device.
Result<ChosenDevice> OpenDevice(const std::string& choice, const DeviceSettings& settings);

}  // namespace fg
