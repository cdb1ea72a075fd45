// The entry points of prefill attention: checks and the choice of form.
#include "kernels/cuda/attention_many.cuh"

namespace fg::cuda {
namespace {

bool AreServed(const AttentionArgs& args) {
  if (!AttentionManyServes(args.head_dim) || args.kv_heads < 1 || args.heads < 1) return false;
  if (args.heads % args.kv_heads != 0 || args.rows < 0 || args.y == nullptr) return false;
  const void* const pointers[] = {args.q, args.keys, args.values, args.y};
  for (const void* p : pointers) {
    if (reinterpret_cast<uintptr_t>(p) % 16 != 0) return false;
  }
  return true;
}

}  // namespace

bool AttentionManyServes(int64_t head_dim) { return head_dim == 64 || head_dim == 128; }

bool AttentionManyHas(AttentionForm form) { return form == AttentionForm::kMma || HasManyWgmma(); }

AttentionForm AttentionManyBest() {
  return HasManyWgmma() ? AttentionForm::kWgmma : AttentionForm::kMma;
}

cudaError_t AttentionMany(const AttentionArgs& args, cudaStream_t stream, AttentionForm form) {
  if (!AreServed(args)) return cudaErrorInvalidValue;
  if (args.rows == 0) return cudaSuccess;
  return form == AttentionForm::kMma ? LaunchManyMma(args, stream) : LaunchManyWgmma(args, stream);
}

}  // namespace fg::cuda
