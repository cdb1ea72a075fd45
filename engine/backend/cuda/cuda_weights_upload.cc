#include "engine/backend/cuda/cuda_weights_upload.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "kernels/cuda/resident.h"

namespace fg {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{32} << 20;
constexpr uint64_t kThreadBytes = uint64_t{1} << 20;  // less is not worth a thread
constexpr int kMostCopyThreads = 8;                   // more add nothing to a copy from memory

// One thread alone reads a mapping at a fraction of what the device takes.
void CopyOnThreads(std::byte* to, const std::byte* from, uint64_t bytes, int most_threads) {
  const uint64_t wanted = (bytes + kThreadBytes - 1) / kThreadBytes;
  const uint64_t threads =
      std::clamp<uint64_t>(wanted, 1, std::min(most_threads, kMostCopyThreads));
  const uint64_t share = (bytes + threads - 1) / threads;
  const auto copy = [=](uint64_t part) {
    const uint64_t begin = std::min(part * share, bytes);
    std::memcpy(to + begin, from + begin, std::min(share, bytes - begin));
  };
  std::vector<std::jthread> others;
  for (uint64_t part = 1; part < threads; ++part) others.emplace_back(copy, part);
  copy(0);
}

}  // namespace

Status WeightUpload::Start(CudaContext* context, uint64_t largest, uint64_t largest_row) {
  context_ = context;
  piece_bytes_ = std::max(std::min(kPieceBytes, largest), largest_row);
  for (Slot& slot : slots_) {
    FG_ASSIGN_OR_RETURN(slot.pinned, PinnedBuffer::Allocate(piece_bytes_, "the upload's buffer"));
    FG_RETURN_IF_ERROR(context->Check(cudaEventCreateWithFlags(&slot.taken, cudaEventDisableTiming),
                                      "the upload's event"));
  }
  FG_ASSIGN_OR_RETURN(
      staging_, DeviceBuffer::Allocate(piece_bytes_, MemoryCategory::kScratch, context->memory(),
                                       "the upload's staging buffer",
                                       "choose a smaller model, or free the device's memory"));
  return Status::Ok();
}

WeightUpload::~WeightUpload() {
  if (context_ == nullptr) return;
  // The device may still read the pinned buffers; an error shows in the context's next wait.
  (void)context_->Wait("the upload of weights");
  for (Slot& slot : slots_) {
    if (slot.taken != nullptr) (void)cudaEventDestroy(slot.taken);
  }
}

Status WeightUpload::CopyPiece(const std::byte* from, uint64_t bytes, void* to) {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  // An event that was never recorded counts as past.
  FG_RETURN_IF_ERROR(context_->Check(cudaEventSynchronize(slot.taken), "the upload of weights"));
  CopyOnThreads(slot.pinned.as<std::byte>(), from, bytes, context_->gates().settings().threads);
  FG_RETURN_IF_ERROR(context_->Check(
      cudaMemcpyAsync(to, slot.pinned.data(), bytes, cudaMemcpyHostToDevice, context_->stream()),
      "the upload of weights"));
  return context_->Check(cudaEventRecord(slot.taken, context_->stream()), "the upload of weights");
}

Status WeightUpload::Upload(const WeightView& view, void* resident) {
  const auto* from = static_cast<const std::byte*>(view.data);
  auto* to = static_cast<std::byte*>(resident);
  const auto row_bytes = static_cast<uint64_t>(RowBytes(view.type, view.k));
  if (!cuda::IsGathered(view.type)) {
    const uint64_t bytes = row_bytes * view.out;
    for (uint64_t done = 0; done < bytes; done += piece_bytes_) {
      FG_RETURN_IF_ERROR(CopyPiece(from + done, std::min(piece_bytes_, bytes - done), to + done));
    }
    return Status::Ok();
  }
  const int64_t piece_rows = static_cast<int64_t>(piece_bytes_ / row_bytes);
  for (int64_t row = 0; row < view.out; row += piece_rows) {
    const int64_t rows = std::min(piece_rows, view.out - row);
    FG_RETURN_IF_ERROR(CopyPiece(from + row * row_bytes, rows * row_bytes, staging_.data()));
    FG_RETURN_IF_ERROR(context_->Run(Phase::kLoad, "load.gather", [&] {
      return cuda::GatherResidentRows(view.type, staging_.data(), rows, view.k,
                                      to + row * cuda::ResidentRowBytes(view.type, view.k),
                                      context_->stream());
    }));
  }
  return Status::Ok();
}

}  // namespace fg
