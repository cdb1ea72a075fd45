#include "engine/backend/cpu/matmul_path.h"

namespace fg {
namespace {

std::string Labelled(const char* family, TensorType type, const char* form = "") {
  return std::string(family) + InfoOf(type).name + form;
}

MatmulChoice Generic(TensorType type) {
  return {MatmulPath::kMmqGeneric, WeightPlane::kNone, Labelled("mmq.", type, ".generic")};
}

// A label's part for `plane`.
const char* PlaneMark(WeightPlane plane) {
  return plane == WeightPlane::kScales ? ".dsc" : plane == WeightPlane::kExpanded ? ".exp" : "";
}

MatmulChoice Nibble(TensorType type, bool tiles, WeightPlane plane) {
  return {tiles ? MatmulPath::kMmqTiles : MatmulPath::kMmqNibble, plane,
          Labelled("mmq.", type, tiles ? ".nb.bt" : ".nb") + PlaneMark(plane)};
}

MatmulChoice ChooseQ4K(const Gates& gates, Phase phase) {
  const TensorType type = TensorType::kQ4_K;
  if (!gates.On(Gate::kMmqRaw, phase)) return Generic(type);
  const bool nibble = gates.On(Gate::kMmqRawNb, phase);
  if (nibble && gates.faults().Active(Fault::kDeadFastPath)) {
    MatmulChoice dead = Generic(type);
    dead.label += "!";
    return dead;
  }
  if (!nibble && !gates.faults().Active(Fault::kOptOutIgnored)) {
    return {MatmulPath::kMmqRaw, WeightPlane::kNone, Labelled("mmq.", type, ".raw")};
  }
  const bool tiles = gates.On(Gate::kMmqATranspose, phase);
  const bool scales = tiles && gates.On(Gate::kMmqQ4kDsc, phase);
  return Nibble(type, tiles, scales ? WeightPlane::kScales : WeightPlane::kNone);
}

MatmulChoice ChooseQ6K(const Gates& gates, Phase phase) {
  const TensorType type = TensorType::kQ6_K;
  const bool nibble_family = gates.On(Gate::kMmqQ6kNb, phase);
  if (!nibble_family && !gates.faults().Active(Fault::kOptOutQ6kIgnored)) {
    return {MatmulPath::kGemmF16, WeightPlane::kNone, Labelled("gemm.f16.", type)};
  }
  if (!gates.On(Gate::kMmqRawNb, phase)) return Generic(type);
  const bool tiles = gates.On(Gate::kMmqATranspose, phase);
  const bool expanded = gates.On(Gate::kMmqQ6kExp, phase);
  return Nibble(type, tiles, expanded ? WeightPlane::kExpanded : WeightPlane::kNone);
}

}  // namespace

const char* WeightPlaneName(WeightPlane plane) {
  return plane == WeightPlane::kScales     ? "scales"
         : plane == WeightPlane::kExpanded ? "expanded"
                                           : "";
}

MatmulChoice ChooseMatmulPath(const Gates& gates, TensorType type, int64_t k, int64_t rows,
                              Phase phase) {
  const bool wide = rows >= kPrefillRows && k % 32 == 0 && gates.settings().prefill_gemm;
  if (!wide) {
    if (phase == Phase::kDecode && gates.faults().Active(Fault::kGateReadInDecode)) {
      (void)gates.On(Gate::kMmq, phase);
    }
    return {MatmulPath::kRows, WeightPlane::kNone, Labelled("row.", type)};
  }
  if (type == TensorType::kF32) return {MatmulPath::kGemmF32, WeightPlane::kNone, "gemm.f32.f32"};
  if (type == TensorType::kBF16) {
    return {MatmulPath::kGemmBF16, WeightPlane::kNone, Labelled("gemm.f16.", type)};
  }
  if (type == TensorType::kF16 || !gates.On(Gate::kMmq, phase)) {
    return {MatmulPath::kGemmF16, WeightPlane::kNone, Labelled("gemm.f16.", type)};
  }
  if (type == TensorType::kQ6_K) return ChooseQ6K(gates, phase);
  if (type == TensorType::kQ4_K) return ChooseQ4K(gates, phase);
  return Generic(type);
}

MatmulChoice WithoutPlane(const MatmulChoice& choice) {
  MatmulChoice without = choice;
  const std::string mark = PlaneMark(choice.plane);
  without.plane = WeightPlane::kNone;
  without.label.resize(without.label.size() - mark.size());
  without.label += "!";
  return without;
}

MatmulChoice OnRowMajorPlane(const MatmulChoice& choice, TensorType type) {
  return choice.path == MatmulPath::kMmqTiles ? Nibble(type, false, WeightPlane::kNone) : choice;
}

KernelFault KernelFaultOf(const Faults& faults, const MatmulChoice& choice) {
  const bool tiles = choice.path == MatmulPath::kMmqTiles;
  const bool nibble = tiles || choice.path == MatmulPath::kMmqNibble;
  if (nibble && faults.Active(Fault::kNibblesSwapped)) return KernelFault::kSwapNibbles;
  if (nibble && faults.Active(Fault::kMinDropped)) return KernelFault::kDropMin;
  if (choice.path == MatmulPath::kMmqRaw && faults.Active(Fault::kRawTailSkipped)) {
    return KernelFault::kWrongTail;
  }
  if (tiles && faults.Active(Fault::kChunkOffPlane)) return KernelFault::kChunkOffPlane;
  // Where there is an expanded plane its builder swaps them: twice would be right again.
  if (nibble && choice.plane == WeightPlane::kNone && faults.Active(Fault::kQ6kScalesSwapped)) {
    return KernelFault::kSwapHalfScales;
  }
  if (nibble && faults.Active(Fault::kQ6kCoarse)) return KernelFault::kCoarseQ6K;
  return KernelFault::kNone;
}

}  // namespace fg
