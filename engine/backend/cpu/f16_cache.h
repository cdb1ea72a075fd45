#pragma once

#include "base/status.h"
#include "engine/backend/cpu/cpu_context.h"
#include "engine/backend/cpu/host_buffer.h"
#include "engine/model/weight_view.h"

namespace fg {

// The f16 cache of a quantized weight, [out][k]: each dequantized value rounded to nearest even,
// booked as kF16Cache. kBadModel names a value that f16 cannot hold (65520 or more, or not finite).
Result<HostBuffer> BuildF16Cache(CpuContext& context, const WeightView& view);

}  // namespace fg
