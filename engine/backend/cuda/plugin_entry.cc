// The shared object's only symbol. engine/backend/device_plugin.h.
#include <utility>

#include "engine/backend/cuda/cublaslt.h"
#include "engine/backend/cuda/cuda_backend.h"
#include "engine/backend/cuda/cuda_operations.h"
#include "engine/backend/cuda/device_info.h"
#include "engine/backend/device_plugin.h"

namespace fg {
namespace {

class CudaPlugin : public DevicePlugin {
 public:
  CudaPlugin(DeviceInfo info, std::unique_ptr<CublasLt> cublaslt)
      : info_(std::move(info)), cublaslt_(std::move(cublaslt)) {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Backend>> NewBackend(const Gates& gates, Ledger* ledger,
                                              MemoryBook* memory) override {
    return NewCudaBackend(gates, ledger, memory, info_, cublaslt_.get());
  }

  Result<std::unique_ptr<Operations>> NewOperations(const Gates& gates, Ledger* ledger,
                                                    MemoryBook* memory) override {
    return CudaOperations::Make(gates, ledger, memory, info_, cublaslt_.get());
  }

 private:
  DeviceInfo info_;
  std::unique_ptr<CublasLt> cublaslt_;
};

Result<std::unique_ptr<DevicePlugin>> Open(const std::string& device_class,
                                           const std::string& cublaslt_path) {
  FG_ASSIGN_OR_RETURN(DeviceInfo info, DescribeDevice(device_class));
  auto opened = CublasLt::Open(cublaslt_path);
  std::unique_ptr<CublasLt> cublaslt;
  if (opened.ok()) {
    cublaslt = std::move(opened).value();
    info.cublaslt = cublaslt->version();
  } else {
    // An error only when a GEMM is asked for: one-row kernels need none.
    info.cublaslt_missing = opened.status().message();
    cublaslt = CublasLt::Absent(opened.status());
  }
  return std::unique_ptr<DevicePlugin>(new CudaPlugin(std::move(info), std::move(cublaslt)));
}

}  // namespace
}  // namespace fg

extern "C" __attribute__((visibility("default"))) const fg::DevicePluginEntry* fg_device_plugin() {
  static const std::string build = fg::PluginBuild();
  static const fg::DevicePluginEntry entry = {build.c_str(), fg::Open};
  return &entry;
}
