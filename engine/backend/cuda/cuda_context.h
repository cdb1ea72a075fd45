// What the CUDA backend's operations share: gates, ledger, the stream, launches that are counted,
// checked and timed, and the device error that ends everything.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/backend/backend.h"
#include "engine/backend/device_plugin.h"
#include "engine/gates.h"
#include "engine/ledger.h"
#include "engine/memory_book.h"
#include "engine/phase.h"

namespace fg {

class CublasLt;  // engine/backend/cuda/cublaslt.h

// What a launch has to do, for its share of a ceiling; 0 where it is not said.
struct LaunchWork {
  double operations = 0, bytes = 0;
};

// One per engine. Not for concurrent use.
class CudaContext {
 public:
  // All outlive the context. kDevice when no stream can be made.
  static Result<std::unique_ptr<CudaContext>> Make(const Gates& gates, Ledger* ledger,
                                                   MemoryBook* memory, const DeviceInfo& info,
                                                   CublasLt* cublaslt);
  ~CudaContext();

  const Gates& gates() const { return gates_; }
  Ledger& ledger() { return *ledger_; }
  MemoryBook* memory() { return memory_; }
  const DeviceInfo& info() const { return info_; }
  CublasLt& cublaslt() { return *cublaslt_; }
  cudaStream_t stream() const { return stream_; }
  bool Faulty(Fault fault) const { return gates_.faults().Active(fault); }
  bool sync_launch()
      const;  // FG_SYNC_LAUNCH: each launch is waited for and checked, nothing is captured

  // Runs `launch`, a callable that starts one kernel on stream() and returns its cudaError_t, and
  // counts it. kDevice bears the kernel's name. While capturing, nothing is timed or waited for.
  template <typename Launch>
  Status Run(Phase phase, const char* kernel, const Launch& launch, LaunchWork work = {}) {
    FG_RETURN_IF_ERROR(Before(phase, kernel, work));
    return After(kernel, launch());
  }
  // Waits for the stream. kDevice: what failed since the last wait, said as `site`'s.
  Status Wait(const char* site);
  // Final: every later call returns it.
  const Status& device_error() const { return device_error_; }
  // cudaSuccess is Ok; everything else is kDevice, remembered as device_error().
  Status Check(cudaError_t error, const std::string& site);

  // While capturing the launches are counted by whoever replays them.
  void set_capturing(bool capturing) { capturing_ = capturing; }
  bool capturing() const { return capturing_; }

  void CountDispatch(Phase phase, const char* op, const std::string& label) {
    ledger_->CountDispatch(phase, op, label);
    last_label_ = label;
  }
  const std::string& last_label() const { return last_label_; }

  void TimeKernels(bool on);
  bool timing() const { return timing_; }
  std::vector<KernelTime> TakeKernelTimes();

 private:
  struct Timed;  // events of one launch
  CudaContext(const Gates& gates, Ledger* ledger, MemoryBook* memory, const DeviceInfo& info,
              CublasLt* cublaslt);
  Status Before(Phase phase, const char* kernel, LaunchWork work);
  Status After(const char* kernel, cudaError_t launched);

  const Gates& gates_;
  Ledger* ledger_;
  MemoryBook* memory_;
  const DeviceInfo& info_;
  CublasLt* cublaslt_;
  cudaStream_t stream_ = nullptr;
  Status device_error_;
  std::string last_label_;
  bool capturing_ = false, timing_ = false;
  std::vector<Timed> timed_;
};

}  // namespace fg
