// Opens the shared object in which another device's backend lies. engine/backend/device_plugin.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/backend/device_plugin.h"
#include "engine/gates.h"

namespace fg {

constexpr char kCudaPluginFile[] = "libfg_cuda.so";

// Where the object is looked for, in order: the folder of `program` (a path), and ../lib beside it.
std::vector<std::string> PluginFolders(const std::string& program);
// The same of the running program. kIo where the system does not tell its path.
Result<std::vector<std::string>> PluginFoldersOfThisProgram();

// Opens `file` in the first of `folders` that has it. It stays loaded to the end of the process.
// kDevice: there is none, it cannot be loaded, or what the object itself says of its device.
// kUsage: it is no backend, of another build than `build`, or a setting that its device refuses.
Result<std::unique_ptr<DevicePlugin>> OpenDevicePlugin(const std::string& file,
                                                       const std::vector<std::string>& folders,
                                                       const std::string& build,
                                                       const DeviceSettings& settings);

}  // namespace fg
