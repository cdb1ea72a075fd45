#pragma once

#include <string>

#include "base/status.h"
#include "engine/backend/device_plugin.h"

namespace fg {

// Makes device 0 the current one and describes it; the fields of cuBLASLt are left empty.
// `device_class` is FG_DEVICE_CLASS's text or empty. kDevice: no driver, one that is too old, no
// device, one that the kernels cannot run on; kUsage: a class that the device does not reach.
Result<DeviceInfo> DescribeDevice(const std::string& device_class);

}  // namespace fg
