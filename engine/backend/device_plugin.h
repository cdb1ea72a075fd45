// The border between fg-engine and the backend of another device, a shared object that is opened at
// run time (libfg_cuda.so beside the program), so that one fg-engine starts on any machine. Both
// sides are of one build: C++ types cross the border, and the loader refuses an object of another
// build.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/backend/backend.h"
#include "engine/backend/operations.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/memory_book.h"

namespace fg {

struct DeviceInfo {
  std::string hardware_class;  // "sm_90": of the compute capability; `other` where the defaults do
                               // not list it
  std::string reported_class;  // what gates and evidence go by: FG_DEVICE_CLASS where it lowers it,
                               // else the same
  std::string name;            // "NVIDIA H200"
  std::string
      driver;  // "580.159.04", of NVML; the CUDA version that the driver serves where it is absent
  std::string runtime;        // "13.0": the toolkit that the object was built with
  std::string architectures;  // "90a": what the object holds machine code for
  bool native = true;         // false: the driver compiles the kernels' PTX (compiled, unproven)
  uint64_t memory_bytes = 0;  // of the device
  int multiprocessors = 0;
  std::string cublaslt;          // "13.1.0", empty where it was not found
  std::string cublaslt_missing;  // why, with what was tried
};

// An error (kDevice, kRefused) that one kernel is to blame for names it in its message as
// "kernel NAME: TEXT", also behind contexts: from there the probe's answer takes `kernel`.
class DevicePlugin {
 public:
  virtual ~DevicePlugin() = default;
  virtual const DeviceInfo& info() const = 0;
  // All three outlive what is made.
  virtual Result<std::unique_ptr<Backend>> NewBackend(const Gates& gates, Ledger* ledger,
                                                      MemoryBook* memory) = 0;
  virtual Result<std::unique_ptr<Operations>> NewOperations(const Gates& gates, Ledger* ledger,
                                                            MemoryBook* memory) = 0;
};

// What the object exports as the C symbol `fg_device_plugin` (kDevicePluginSymbol), a function that
// returns a pointer to a constant of this.
struct DevicePluginEntry {
  const char* build;  // PluginBuild() of its own sources; the loader compares it with its own
  // `device_class` is FG_DEVICE_CLASS's text or empty. kDevice: no driver, no device, one that the
  // kernels cannot run on; kUsage: a class that the device does not reach.
  Result<std::unique_ptr<DevicePlugin>> (*open)(const std::string& device_class,
                                                const std::string& cublaslt_path);
};
constexpr char kDevicePluginSymbol[] = "fg_device_plugin";
using DevicePluginFunction = const DevicePluginEntry* (*)();

// Version, compiler and flags of this build, and the engine hash that was stamped.
std::string PluginBuild();

}  // namespace fg
