#include "engine/backend/cuda/cuda_step.h"

#include <algorithm>

namespace fg {
namespace {

int64_t Padded(int64_t bytes) {
  return (bytes + kStepBufferAlignment - 1) / kStepBufferAlignment * kStepBufferAlignment;
}

void AddIfThere(const Operand& operand, std::vector<Operand>* list) {
  if (operand) list->push_back(operand);
}

void SetLives(const std::vector<CudaStep>& steps, std::vector<StepBuffer>* buffers) {
  for (size_t at = 0; at < steps.size(); ++at) {
    const auto touch = [&](const Operand& operand) {
      StepBuffer& buffer = (*buffers)[static_cast<size_t>(operand.buffer)];
      if (buffer.first < 0) buffer.first = static_cast<int>(at);
      buffer.last = static_cast<int>(at);
    };
    for (const Operand& operand : steps[at].Reads()) touch(operand);
    for (const Operand& operand : steps[at].Writes()) touch(operand);
  }
}

bool Overlap(const StepBuffer& a, const StepBuffer& b) {
  return a.first <= b.last && b.first <= a.last;
}

// The lowest offset at which `bytes` fit between `taken`, which is sorted by offset.
int64_t LowestGap(const std::vector<const StepBuffer*>& taken, int64_t bytes) {
  int64_t offset = 0;
  for (const StepBuffer* other : taken) {
    if (other->offset - offset >= bytes) break;
    offset = std::max(offset, other->offset + Padded(other->bytes));
  }
  return offset;
}

}  // namespace

std::vector<Operand> CudaStep::Reads() const {
  std::vector<Operand> list;
  for (const Operand& operand : in) AddIfThere(operand, &list);
  AddIfThere(in_scale, &list);
  AddIfThere(plane, &list);
  AddIfThere(residual, &list);
  if (kind == StepKind::kScaleBias) AddIfThere(out[0], &list);
  return list;
}

std::vector<Operand> CudaStep::Writes() const {
  std::vector<Operand> list;
  for (const Operand& operand : out) AddIfThere(operand, &list);
  AddIfThere(f16, &list);
  AddIfThere(f16_scale, &list);
  AddIfThere(chunks, &list);
  return list;
}

int64_t PlaceBuffers(const std::vector<CudaStep>& steps, std::vector<StepBuffer>* buffers) {
  SetLives(steps, buffers);
  std::vector<size_t> order;
  for (size_t i = 0; i < buffers->size(); ++i) {
    const StepBuffer& buffer = (*buffers)[i];
    if (buffer.first >= 0 && !buffer.logits) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return (*buffers)[a].bytes > (*buffers)[b].bytes; });
  std::vector<const StepBuffer*> placed;  // sorted by offset
  int64_t pool = 0;
  for (const size_t i : order) {
    StepBuffer& buffer = (*buffers)[i];
    std::vector<const StepBuffer*> taken;
    for (const StepBuffer* other : placed) {
      if (Overlap(*other, buffer)) taken.push_back(other);
    }
    buffer.offset = LowestGap(taken, Padded(buffer.bytes));
    pool = std::max(pool, buffer.offset + Padded(buffer.bytes));
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), buffer.offset,
        [](int64_t offset, const StepBuffer* other) { return offset < other->offset; });
    placed.insert(after, &buffer);
  }
  return pool;
}

}  // namespace fg
