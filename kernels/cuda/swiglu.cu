#include "kernels/cuda/swiglu.h"

#include "kernels/cuda/activations_rows.cuh"
#include "kernels/cuda/exp.cuh"

namespace fg::cuda {
namespace {

struct SwigluRows {
  const float* g;
  const float* u;
  const float* scale;  // [rows], moved along with the row; or null

  __device__ SwigluRows Row(int64_t row, int n) const {
    return {g + row * n, u + row * n, scale == nullptr ? nullptr : scale + row};
  }
  template <bool kVector>
  __device__ float4 Four(int at, int n) const {
    const float4 a = Load4<kVector>(g, at, n);
    const float4 b = Load4<kVector>(u, at, n);
    // A product with 1 changes nothing but the bits of a NaN, which the result does not keep.
    const float s = scale == nullptr ? 1.0f : *scale;
    return make_float4(SwigluOf(__fmul_rn(a.x, s), __fmul_rn(b.x, s)),
                       SwigluOf(__fmul_rn(a.y, s), __fmul_rn(b.y, s)),
                       SwigluOf(__fmul_rn(a.z, s), __fmul_rn(b.z, s)),
                       SwigluOf(__fmul_rn(a.w, s), __fmul_rn(b.w, s)));
  }
};

}  // namespace

cudaError_t Swiglu(const SwigluArgs& args, cudaStream_t stream) {
  const RowOutputs outputs = {args.y, args.f16, args.f16_scale, args.chunks};
  return MakeRows(SwigluRows{args.g, args.u, args.scale}, args.rows, args.n, outputs,
                  VectorRows(args.n, args.g, args.u, args.y, args.f16), stream);
}

}  // namespace fg::cuda
