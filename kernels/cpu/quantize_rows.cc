#include "kernels/cpu/quantize_rows.h"

#include <cassert>

#include "kernels/cpu/quantize_rows_levels.h"

namespace fg {

void QuantizeRows(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                  ActivationChunk* plane, KernelFault fault) {
  assert(k % kBlock32 == 0);
  if (level >= CpuLevel::kAvx512) return QuantizeRowsAvx512(x, ldx, rows, k, plane, fault);
  if (level >= CpuLevel::kAvx2) return QuantizeRowsAvx2(x, ldx, rows, k, plane, fault);
  QuantizeRowsPlain(x, ldx, rows, k, plane, fault);
}

}  // namespace fg
