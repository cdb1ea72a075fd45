#include "kernels/cuda/swiglu.h"

#include "kernels/cuda/activations_rows.cuh"
#include "kernels/cuda/exp.cuh"

namespace fg::cuda {
namespace {

struct SwigluRows {
  const float* g;
  const float* u;
  const float* scale;  // [rows] or null

  struct Raw {
    float4 g, u;
  };
  struct Row {
    const float* g;
    const float* u;
    float scale;

    template <bool kVector>
    __device__ Raw Fetch(int at, int n) const {
      return {Load4<kVector>(g, at, n), Load4<kVector>(u, at, n)};
    }
    // A product with 1 changes nothing but the bits of a NaN, which the result does not keep.
    __device__ float4 Make(const Raw& raw) const {
      return SwigluFour(Times(raw.g, scale), Times(raw.u, scale));
    }
  };
  __device__ Row At(int64_t row, int n) const {
    return {g + row * n, u + row * n, scale == nullptr ? 1.0f : scale[row]};
  }
};

}  // namespace

cudaError_t Swiglu(const SwigluArgs& args, cudaStream_t stream) {
  const RowOutputs outputs = {args.y, args.f16, args.f16_scale, args.chunks};
  return MakeRows(SwigluRows{args.g, args.u, args.scale}, args.rows, args.n, outputs,
                  VectorRows(args.n, args.g, args.u, args.y, args.f16), stream);
}

}  // namespace fg::cuda
