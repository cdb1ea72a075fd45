#include "engine/backend/cpu/matmul_path.h"

namespace fg {
namespace {

std::string Labelled(const char* family, TensorType type, const char* form = "") {
  return std::string(family) + InfoOf(type).name + form;
}

MatmulChoice ChooseQ4K(const Gates& gates, Phase phase) {
  const MatmulChoice generic = {MatmulPath::kMmqGeneric,
                                Labelled("mmq.", TensorType::kQ4_K, ".generic")};
  if (!gates.On(Gate::kMmqRaw, phase)) return generic;
  const bool nibble = gates.On(Gate::kMmqRawNb, phase);
  if (nibble && gates.faults().Active(Fault::kDeadFastPath)) {
    return {generic.path, generic.label + "!"};
  }
  if (nibble || gates.faults().Active(Fault::kOptOutIgnored)) {
    return {MatmulPath::kMmqNibble, Labelled("mmq.", TensorType::kQ4_K, ".nb")};
  }
  return {MatmulPath::kMmqRaw, Labelled("mmq.", TensorType::kQ4_K, ".raw")};
}

}  // namespace

MatmulChoice ChooseMatmulPath(const Gates& gates, TensorType type, int64_t k, int64_t rows,
                              Phase phase) {
  const bool wide = rows >= kPrefillRows && k % 32 == 0 && gates.settings().prefill_gemm;
  if (!wide) {
    if (phase == Phase::kDecode && gates.faults().Active(Fault::kGateReadInDecode)) {
      (void)gates.On(Gate::kMmq, phase);
    }
    return {MatmulPath::kRows, Labelled("row.", type)};
  }
  if (type == TensorType::kF32) return {MatmulPath::kGemmF32, "gemm.f32.f32"};
  if (type == TensorType::kBF16) return {MatmulPath::kGemmBF16, Labelled("gemm.f16.", type)};
  if (type == TensorType::kF16 || !gates.On(Gate::kMmq, phase)) {
    return {MatmulPath::kGemmF16, Labelled("gemm.f16.", type)};
  }
  // The nibble-family kernel of q6_K is not built, so its gate counts as off.
  if (type == TensorType::kQ6_K) return {MatmulPath::kGemmF16, Labelled("gemm.f16.", type)};
  if (type == TensorType::kQ4_K) return ChooseQ4K(gates, phase);
  return {MatmulPath::kMmqGeneric, Labelled("mmq.", type, ".generic")};
}

KernelFault KernelFaultOf(const Faults& faults, MatmulPath path) {
  if (path == MatmulPath::kMmqNibble && faults.Active(Fault::kNibblesSwapped)) {
    return KernelFault::kSwapNibbles;
  }
  if (path == MatmulPath::kMmqNibble && faults.Active(Fault::kMinDropped)) {
    return KernelFault::kDropMin;
  }
  if (path == MatmulPath::kMmqRaw && faults.Active(Fault::kRawTailSkipped)) {
    return KernelFault::kWrongTail;
  }
  return KernelFault::kNone;
}

}  // namespace fg
