#include "engine/backend/cuda/cuda_capture.h"

namespace fg {
namespace {

Status Failed(const char* what, cudaError_t error) {
  return Status(ErrorKind::kDevice, std::string(what) + ": " + cudaGetErrorString(error) + " (" +
                                        cudaGetErrorName(error) + ")");
}

}  // namespace

CapturedStep::~CapturedStep() {
  if (exec_ == nullptr) return;
  (void)cudaGraphExecDestroy(exec_);
  memory_->Remove(MemoryCategory::kGraph, booked_);
}

Status CapturedStep::Capture(cudaStream_t stream, MemoryBook* memory,
                             const std::function<Status()>& steps) {
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return Failed("cudaStreamBeginCapture", error);
  }
  const Status ran = steps();
  cudaGraph_t graph = nullptr;
  // Always ended: the stream would stay in capture.
  error = cudaStreamEndCapture(stream, &graph);
  Status status = !ran.ok()              ? ran
                  : error == cudaSuccess ? Status::Ok()
                                         : Failed("cudaStreamEndCapture", error);
  size_t nodes = 0;
  if (status.ok()) {
    error = cudaGraphInstantiate(&exec_, graph, 0);
    if (error == cudaSuccess) error = cudaGraphGetNodes(graph, nullptr, &nodes);
    if (error != cudaSuccess) status = Failed("cudaGraphInstantiate", error);
  }
  if (graph != nullptr) (void)cudaGraphDestroy(graph);
  if (!status.ok()) {
    if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
    exec_ = nullptr;
    (void)cudaGetLastError();  // it would show at the next launch
    return status;
  }
  memory_ = memory;
  booked_ = nodes * kBytesANode;
  memory_->Add(MemoryCategory::kGraph, booked_);
  return Status::Ok();
}

}  // namespace fg
