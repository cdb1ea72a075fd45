#include "engine/backend/cuda/cuda_context.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fg {
namespace {

std::string TextOf(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

// Errors that a launch returns because of itself. Every other one may be that of a kernel before
// it, which surfaces wherever the runtime is called next.
bool IsOfTheLaunch(cudaError_t error) {
  switch (error) {
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorNotSupported:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct CudaContext::Timed {
  std::string kernel;  // a copy: labels come and go
  LaunchWork work;
  cudaEvent_t start = nullptr, stop = nullptr;

  void Destroy() {
    if (start != nullptr) (void)cudaEventDestroy(start);
    if (stop != nullptr) (void)cudaEventDestroy(stop);
    start = stop = nullptr;
  }
};

CudaContext::CudaContext(const Gates& gates, Ledger* ledger, MemoryBook* memory,
                         const DeviceInfo& info, CublasLt* cublaslt)
    : gates_(gates), ledger_(ledger), memory_(memory), info_(info), cublaslt_(cublaslt) {}

CudaContext::~CudaContext() {
  for (Timed& timed : timed_) timed.Destroy();
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

Result<std::unique_ptr<CudaContext>> CudaContext::Make(const Gates& gates, Ledger* ledger,
                                                       MemoryBook* memory, const DeviceInfo& info,
                                                       CublasLt* cublaslt) {
  std::unique_ptr<CudaContext> context(new CudaContext(gates, ledger, memory, info, cublaslt));
  FG_RETURN_IF_ERROR(context->Check(
      cudaStreamCreateWithFlags(&context->stream_, cudaStreamNonBlocking), "the engine's stream"));
  return context;
}

bool CudaContext::sync_launch() const { return gates_.settings().sync_launch; }

Status CudaContext::Check(cudaError_t error, const std::string& site) {
  if (error == cudaSuccess) return Status::Ok();
  const Status status(ErrorKind::kDevice, site + ": " + TextOf(error));
  // What follows a device's first error is its consequence.
  if (device_error_.ok()) device_error_ = status;
  return status;
}

Status CudaContext::Wait(const char* site) {
  FG_RETURN_IF_ERROR(device_error_);
  const cudaError_t error = cudaStreamSynchronize(stream_);
  if (error == cudaSuccess) return Status::Ok();
  return Check(error, sync_launch() ? std::string(site)
                                    : std::string(site) +
                                          ": a kernel before this wait failed, set "
                                          "FG_SYNC_LAUNCH=1 to learn its name");
}

Status CudaContext::Before(Phase phase, const char* kernel, LaunchWork work) {
  FG_RETURN_IF_ERROR(device_error_);
  if (capturing_) return Status::Ok();
  ledger_->CountLaunch(phase);
  if (!timing_) return Status::Ok();
  timed_.push_back({kernel, work});
  Timed& timed = timed_.back();
  FG_RETURN_IF_ERROR(Check(cudaEventCreate(&timed.start), "the timing of kernels"));
  FG_RETURN_IF_ERROR(Check(cudaEventCreate(&timed.stop), "the timing of kernels"));
  return Check(cudaEventRecord(timed.start, stream_), "the timing of kernels");
}

Status CudaContext::After(const char* kernel, cudaError_t launched) {
  if (launched != cudaSuccess) {
    const bool sure = sync_launch() || IsOfTheLaunch(launched);
    return Check(launched, sure ? "kernel " + std::string(kernel)
                                : std::string(kernel) +
                                      ": this kernel or one before it failed, set "
                                      "FG_SYNC_LAUNCH=1 to learn its name");
  }
  if (capturing_) return Status::Ok();
  if (timing_) {
    FG_RETURN_IF_ERROR(Check(cudaEventRecord(timed_.back().stop, stream_), kernel));
  }
  if (!sync_launch()) return Status::Ok();
  return Check(cudaStreamSynchronize(stream_), "kernel " + std::string(kernel));
}

void CudaContext::TimeKernels(bool on) {
  for (Timed& timed : timed_) timed.Destroy();
  timed_.clear();
  timing_ = on;
}

std::vector<KernelTime> CudaContext::TakeKernelTimes() {
  std::map<std::string, KernelTime> by_name;
  if (Wait("the timing of kernels").ok()) {
    for (const Timed& timed : timed_) {
      float milliseconds = 0;
      if (!Check(cudaEventElapsedTime(&milliseconds, timed.start, timed.stop), timed.kernel).ok()) {
        break;
      }
      KernelTime& sum = by_name[timed.kernel];
      ++sum.launches;
      sum.seconds += milliseconds * 1e-3;
      sum.operations += timed.work.operations;
      sum.bytes += timed.work.bytes;
    }
  }
  for (Timed& timed : timed_) timed.Destroy();
  timed_.clear();
  std::vector<KernelTime> times;
  for (auto& [name, time] : by_name) {
    time.kernel = name;
    times.push_back(std::move(time));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.seconds > b.seconds; });
  return times;
}

}  // namespace fg
