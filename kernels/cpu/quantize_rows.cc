#include "kernels/cpu/quantize_rows.h"

#include <cassert>

#include "kernels/cpu/quantize_rows_levels.h"

namespace fg {

void QuantizeRows(CpuLevel level, const float* x, int64_t ldx, int64_t rows, int64_t k,
                  ActivationChunk* plane, KernelFault fault) {
  assert(k % kBlock32 == 0);
  switch (level) {
    case CpuLevel::kPlain:
      return QuantizeRowsPlain(x, ldx, rows, k, plane, fault);
    case CpuLevel::kAvx2:
    case CpuLevel::kAvx512:
      return QuantizeRowsAvx2(x, ldx, rows, k, plane, fault);
  }
}

}  // namespace fg
