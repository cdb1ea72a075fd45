#include "kernels/cpu/mmq.h"

#include <cassert>

#include "kernels/cpu/mmq_forms.h"

namespace fg {

bool MmqSupports(MmqForm form, TensorType type) {
  switch (form) {
    case MmqForm::kGeneric:
      return InfoOf(type).quantized && InfoOf(type).computable;
    case MmqForm::kRaw:
      return type == TensorType::kQ4_K;
    case MmqForm::kNibble:
      return type == TensorType::kQ4_K || type == TensorType::kQ6_K;
  }
  return false;
}

void Mmq(CpuLevel level, MmqForm form, const MmqArgs& args, Range outs, KernelFault fault) {
  assert(MmqSupports(form, args.type));
  assert(args.k % InfoOf(args.type).block_values == 0);
  const bool avx2 = level >= CpuLevel::kAvx2;
  switch (form) {
    case MmqForm::kGeneric:
      if (level >= CpuLevel::kAvx512) return MmqGenericAvx512(args, outs);
      return avx2 ? MmqGenericAvx2(args, outs) : MmqGenericPlain(args, outs);
    case MmqForm::kRaw:
      if (level >= CpuLevel::kAvx512) return MmqQ4KRawAvx512(args, outs, fault);
      return avx2 ? MmqQ4KRawAvx2(args, outs, fault) : MmqQ4KRawPlain(args, outs, fault);
    case MmqForm::kNibble:
      if (args.type == TensorType::kQ6_K) {
        if (level >= CpuLevel::kAvx512) return MmqQ6KNibbleAvx512(args, outs, fault);
        return avx2 ? MmqQ6KNibbleAvx2(args, outs, fault) : MmqQ6KNibblePlain(args, outs, fault);
      }
      if (level >= CpuLevel::kAvx512) return MmqQ4KNibbleAvx512(args, outs, fault);
      return avx2 ? MmqQ4KNibbleAvx2(args, outs, fault) : MmqQ4KNibblePlain(args, outs, fault);
  }
}

}  // namespace fg
