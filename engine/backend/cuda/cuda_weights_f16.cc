#include "engine/backend/cuda/cuda_weights_f16.h"

#include <limits>

#include "engine/backend/cuda/cuda_matmul_path.h"
#include "engine/backend/cuda/device_buffer.h"
#include "kernels/cuda/resident.h"
#include "kernels/formats/dequantize.h"

namespace fg {
namespace {

constexpr char kSite[] = "the check of the f16 cache";

Status Refuse(const WeightView& view, uint64_t index) {
  const auto row = static_cast<int64_t>(index) / view.k;
  const auto column = static_cast<int64_t>(index) % view.k;
  std::vector<float> values(view.k);
  DequantizeRow(view.type,
                static_cast<const std::byte*>(view.data) + row * RowBytes(view.type, view.k),
                view.k, values.data());
  return Status(ErrorKind::kBadModel,
                "tensor '" + view.name + "': value " + std::to_string(values[column]) + " at row " +
                    std::to_string(row) + ", column " + std::to_string(column) +
                    " does not fit the f16 cache; keep this tensor in f32");
}

}  // namespace

bool NeedsF16Cache(const Gates& gates, const WeightView& view) {
  return view.type != TensorType::kF16 &&
         ChooseCudaMatmulPath(gates, view.type, view.k, kPrefillRows, Phase::kLoad) ==
             CudaMatmulPath::kGemmF16;
}

Status BuildF16Caches(CudaContext& context, const std::vector<F16CacheJob>& jobs) {
  if (jobs.empty()) return Status::Ok();
  constexpr auto kNone = static_cast<unsigned long long>(std::numeric_limits<int64_t>::max());
  std::vector<unsigned long long> beyond(jobs.size(), kNone);
  const uint64_t bytes = beyond.size() * sizeof(beyond[0]);
  FG_ASSIGN_OR_RETURN(DeviceBuffer flags,
                      DeviceBuffer::Allocate(bytes, MemoryCategory::kScratch, context.memory(),
                                             kSite, "free some of the device's memory"));
  FG_RETURN_IF_ERROR(context.Check(
      cudaMemcpyAsync(flags.data(), beyond.data(), bytes, cudaMemcpyHostToDevice, context.stream()),
      kSite));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const F16CacheJob& job = jobs[i];
    FG_RETURN_IF_ERROR(context.Run(Phase::kLoad, "load.f16", [&] {
      return cuda::DequantizeToF16(job.view.type, job.resident, job.view.out, job.view.k, job.f16,
                                   flags.as<unsigned long long>() + i, context.stream());
    }));
  }
  FG_RETURN_IF_ERROR(context.Check(
      cudaMemcpyAsync(beyond.data(), flags.data(), bytes, cudaMemcpyDeviceToHost, context.stream()),
      kSite));
  FG_RETURN_IF_ERROR(context.Wait(kSite));
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (beyond[i] != kNone) return Refuse(jobs[i].view, beyond[i]);
  }
  return Status::Ok();
}

}  // namespace fg
