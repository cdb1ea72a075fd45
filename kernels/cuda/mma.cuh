// The instructions that the tensor-core kernels are made of: copies to shared memory that run on
// their own, 8x8 matrices from shared memory, products of f16 with f32 sums. From sm_80 on.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

namespace fg::cuda {

__device__ __forceinline__ uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// 16 bytes from global to shared memory; zeros where `take` is false (then `from` is not read).
__device__ __forceinline__ void CopyAsync16(uint32_t to, const void* from, bool take) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from),
               "r"(take ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void CopyAsyncCommit() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
// Waits until at most `kPending` of the newest groups are under way.
template <int kPending>
__device__ __forceinline__ void CopyAsyncWait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

// Four 8x8 matrices of 16-bit values; lane l gives the address of row l%8 of matrix l/8.
__device__ __forceinline__ void LoadMatrices(uint32_t address, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void LoadMatricesTransposed(uint32_t address, uint32_t (&r)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

// c[16][8] += a[16][16] * b[16][8]. Lane 4g+t holds of c: (g, 2t), (g, 2t+1), (g+8, 2t),
// (g+8, 2t+1); of a the pairs of k at 2t in rows g, g+8, and at 2t+8 in the same; of b the pairs of
// k at 2t and 2t+8 in column g.
__device__ __forceinline__ void MultiplyF16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                            uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two f32 to a pair of f16, nearest even, `low` in the low half.
__device__ __forceinline__ uint32_t PackHalves(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// 2^x to 2 ulp, +0 for -inf and below 2^-126, 1 for 0; NaN stays NaN.
__device__ __forceinline__ float Exp2Approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(y) : "f"(x));
  return y;
}

// Adds 1; what this block wrote before (its other threads' writes too, if a barrier stands between)
// is visible to who sees the sum, and what those wrote who added before to this block behind its
// next barrier.
__device__ __forceinline__ unsigned AddAndMeet(unsigned* counter) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;\n"
               : "=r"(before)
               : "l"(counter)
               : "memory");
  return before;
}

// The warp's number as a value that the compiler knows to be the same in its lanes.
__device__ __forceinline__ int WarpIndex() {
  return __shfl_sync(0xFFFFFFFFu, static_cast<int>(threadIdx.x) / 32, 0);
}

}  // namespace fg::cuda
