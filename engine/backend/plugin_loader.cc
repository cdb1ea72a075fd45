#include "engine/backend/plugin_loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace fg {
namespace {

std::string Listed(const std::vector<std::string>& folders) {
  std::string list;
  for (const std::string& folder : folders) list += (list.empty() ? "" : ", ") + folder;
  return list;
}

Status NoPlugin(const std::string& file, const std::vector<std::string>& folders) {
  return Status(ErrorKind::kDevice, "this build has no CUDA backend (" + file + " is not in " +
                                        Listed(folders) +
                                        "): built without nvcc; configure with FG_CUDA=ON");
}

// The object's entry, checked. Nothing of it is called before its build is known to be ours: C++
// types cross the border.
Result<const DevicePluginEntry*> LoadEntry(const std::string& path, const std::string& build) {
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    const char* const reason = ::dlerror();
    return Status(ErrorKind::kDevice,
                  path + ": cannot be loaded: " + (reason != nullptr ? reason : "no reason given"));
  }
  const auto function =
      reinterpret_cast<DevicePluginFunction>(::dlsym(object, kDevicePluginSymbol));
  const DevicePluginEntry* const entry = function != nullptr ? function() : nullptr;
  if (entry == nullptr || entry->build == nullptr || entry->open == nullptr) {
    return Status(ErrorKind::kUsage,
                  path + ": is no backend of a device: " + kDevicePluginSymbol + " gives nothing");
  }
  if (build == entry->build) return entry;
  return Status(ErrorKind::kUsage, path + ": is of another build than this program; it says '" +
                                       entry->build + "', the program '" + build +
                                       "'; build both together");
}

}  // namespace

std::vector<std::string> PluginFolders(const std::string& program) {
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  return {folder.string(), (folder.parent_path() / "lib").string()};
}

Result<std::vector<std::string>> PluginFoldersOfThisProgram() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Status(ErrorKind::kIo, "/proc/self/exe: " + error.message());
  return PluginFolders(program.string());
}

Result<std::unique_ptr<DevicePlugin>> OpenDevicePlugin(const std::string& file,
                                                       const std::vector<std::string>& folders,
                                                       const std::string& build,
                                                       const DeviceSettings& settings) {
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + file;
    if (::access(path.c_str(), F_OK) != 0) continue;
    FG_ASSIGN_OR_RETURN(const DevicePluginEntry* const entry, LoadEntry(path, build));
    return entry->open(settings.device_class, settings.cublaslt_path);
  }
  return NoPlugin(file, folders);
}

}  // namespace fg
