#include "engine/backend/cpu/f16_cache.h"

#include <atomic>
#include <cmath>
#include <vector>

#include "kernels/cpu/elementwise.h"
#include "kernels/formats/dequantize.h"

namespace fg {
namespace {

// From here on nearest even gives infinity.
constexpr float kBeyondF16 = 65520.0f;

const std::byte* RowOf(const WeightView& view, int64_t row) {
  return static_cast<const std::byte*>(view.data) + row * RowBytes(view.type, view.k);
}

// The first value beyond f16, in the order of the file.
Status Refuse(const WeightView& view) {
  std::vector<float> values(view.k);
  for (int64_t row = 0; row < view.out; ++row) {
    DequantizeRow(view.type, RowOf(view, row), view.k, values.data());
    for (int64_t i = 0; i < view.k; ++i) {
      if (std::fabs(values[i]) < kBeyondF16) continue;
      return Status(ErrorKind::kBadModel,
                    "tensor '" + view.name + "': value " + std::to_string(values[i]) + " at row " +
                        std::to_string(row) + ", column " + std::to_string(i) +
                        " does not fit the f16 cache; keep this tensor in f32");
    }
  }
  return Status(ErrorKind::kInternal, "tensor '" + view.name + "': f16 cache refused in vain");
}

}  // namespace

Result<HostBuffer> BuildF16Cache(CpuContext& context, const WeightView& view) {
  const uint64_t bytes = static_cast<uint64_t>(view.out) * view.k * sizeof(uint16_t);
  FG_ASSIGN_OR_RETURN(HostBuffer cache,
                      HostBuffer::Allocate(bytes, MemoryCategory::kF16Cache, context.memory(),
                                           "the f16 cache of '" + view.name + "'"));
  std::atomic<bool> fits = true;
  context.Parallel(Phase::kLoad, view.out, 1, [&](Range rows, int) {
    std::vector<float> values(view.k);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      DequantizeRow(view.type, RowOf(view, row), view.k, values.data());
      bool row_fits = true;
      for (const float value : values) row_fits = row_fits && std::fabs(value) < kBeyondF16;
      if (!row_fits) fits = false;
      StoreF16(context.level(), values.data(), view.k, cache.as<uint16_t>() + row * view.k);
    }
  });
  if (!fits) return Refuse(view);
  return cache;
}

}  // namespace fg
