#include "engine/backend/cuda/device_info.h"

#include <cuda_runtime_api.h>

#include "engine/backend/cuda/device_class.h"
#include "engine/backend/cuda/nvml.h"

namespace fg {
namespace {

std::string TextOf(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

// Ok when there is a device to use.
Status FindDevice(int driver) {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  NoDevice reason = NoDevice::kOther;
  if (error == cudaSuccess) {
    if (devices > 0) return Status::Ok();
    reason = NoDevice::kNone;
  } else if (error == cudaErrorNoDevice) {
    reason = NoDevice::kNone;
  } else if (error == cudaErrorInsufficientDriver) {
    reason = driver == 0 ? NoDevice::kNoDriver : NoDevice::kDriverTooOld;
  }
  (void)cudaGetLastError();
  return Status(ErrorKind::kDevice, NoDeviceText(reason, driver, CUDART_VERSION, TextOf(error)));
}

}  // namespace

Result<DeviceInfo> DescribeDevice(const std::string& device_class) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  FG_RETURN_IF_ERROR(FindDevice(driver));
  cudaDeviceProp properties = {};
  cudaError_t error = cudaSetDevice(0);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess) {
    return Status(ErrorKind::kDevice,
                  NoDeviceText(NoDevice::kOther, driver, CUDART_VERSION, TextOf(error)));
  }
  const ComputeCapability capability = {properties.major, properties.minor};
  const std::string built_for = FG_CUDA_ARCHITECTURES_TEXT;
  const KernelCode code = KernelCodeFor(built_for, capability);
  if (code == KernelCode::kNone) {
    return Status(ErrorKind::kDevice,
                  std::string(properties.name) + " is of capability " +
                      std::to_string(capability.major) + "." + std::to_string(capability.minor) +
                      ", the kernels are built for " + ArchitecturesText(built_for) +
                      ": build with -DFG_CUDA_ARCHITECTURES=" +
                      std::to_string(capability.number()) + ", or run with --device cpu");
  }
  DeviceInfo info;
  info.hardware_class = ClassOfCapability(capability);
  FG_ASSIGN_OR_RETURN(info.reported_class, ReportedClass(capability, device_class));
  info.name = properties.name;
  info.driver = NvmlDriverVersion();
  if (info.driver.empty()) info.driver = "CUDA " + CudaVersionText(driver);
  info.runtime = CudaVersionText(CUDART_VERSION);
  info.architectures = ArchitecturesText(built_for);
  info.native = code == KernelCode::kNative;
  info.memory_bytes = properties.totalGlobalMem;
  info.multiprocessors = properties.multiProcessorCount;
  return info;
}

}  // namespace fg
