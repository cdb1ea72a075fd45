// Shared objects for the tests of the plugin loader, one a FG_FAKE_PLUGIN: 1 a device that works,
// 2 one of another build, 3 one that does not open, 4 one that is no backend.
#include <string>

#include "engine/backend/device_plugin.h"
#include "engine/testing/fake_device.h"

namespace fg {
namespace {

Result<std::unique_ptr<DevicePlugin>> Open(const std::string& device_class,
                                           const std::string& cublaslt_path) {
  if (FG_FAKE_PLUGIN == 3) {
    return Status(ErrorKind::kDevice, "there is no driver; install one");
  }
  if (device_class == "sm_100") {
    return Status(ErrorKind::kUsage, "FG_DEVICE_CLASS='sm_100' is above this device");
  }
  return std::unique_ptr<DevicePlugin>(
      std::make_unique<testing::FakeDevice>(device_class, cublaslt_path));
}

}  // namespace
}  // namespace fg

extern "C" __attribute__((visibility("default"))) const fg::DevicePluginEntry* fg_device_plugin() {
  if (FG_FAKE_PLUGIN == 4) return nullptr;
  static const std::string build = FG_FAKE_PLUGIN == 2 ? "another build" : fg::PluginBuild();
  static const fg::DevicePluginEntry entry = {build.c_str(), fg::Open};
  return &entry;
}
