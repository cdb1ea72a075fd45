// wgmma as attention uses it: a warpgroup of 128 threads, 64 rows, f16 operands, f32 sums. Only in
// code for sm_90a.
#pragma once

#include <cstdint>

namespace fg::cuda {

// Where a matrix lies in shared memory, in 128-byte rows with 16-byte pieces exchanged
// (AttentionTileOffset; tiles at multiples of 1024). Eight rows make a group of 1024 bytes.
// Of an operand whose rows run along K (queries, keys), the groups follow each other: the leading
// offset means nothing. Of one whose rows run along N (values), the leading offset leads from one
// panel of 64 columns to the next, the stride offset from eight rows of K to the next.
__device__ __forceinline__ uint64_t WgmmaMatrix(uint32_t address, uint32_t leading_bytes) {
  constexpr uint64_t kGroupBytes = 1024, kSwizzle128 = uint64_t{1} << 62;
  return kSwizzle128 | (kGroupBytes >> 4) << 32 |
         static_cast<uint64_t>((leading_bytes & 0x3FFFF) >> 4) << 16 | (address & 0x3FFFF) >> 4;
}

// What ordinary stores and cp.async wrote becomes visible to wgmma: by each writer, before the
// barrier.
__device__ __forceinline__ void WgmmaSharedFence() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}
// Before the first wgmma after registers were written.
__device__ __forceinline__ void WgmmaFence() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
__device__ __forceinline__ void WgmmaCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void WgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
}
// A barrier of the warpgroup's 128 threads, `id` 1 to 15.
__device__ __forceinline__ void WgmmaBarrier(int id) {
  asm volatile("barrier.cta.sync.aligned %0, 128;\n" ::"r"(id) : "memory");
}
// Keeps the compiler from moving uses of sums across a wait.
template <int kCount>
__device__ __forceinline__ void WgmmaHold(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

#define FG_SUMS_8(d, i)                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define FG_SUMS_32(d, i) \
  FG_SUMS_8(d, i), FG_SUMS_8(d, i + 8), FG_SUMS_8(d, i + 16), FG_SUMS_8(d, i + 24)
#define FG_NAMES_32                                                                    \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22," \
  "%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define FG_NAMES_64                                                                       \
  FG_NAMES_32                                                                             \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52," \
  "%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"

// d[64][128] (+)= a[64][16] * b[128][16]^T, both in shared memory, rows along K. Lane 4g+t of warp
// w holds of d the rows 16w + g (d[4n], d[4n+1]) and 16w + g + 8, columns 8n + 2t and the next.
__device__ __forceinline__ void WgmmaDots(float (&d)[64], uint64_t a, uint64_t b, bool add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" FG_NAMES_64
      "}, %64, %65, p, 1, 1, 0, 0;\n}\n"
      : FG_SUMS_32(d, 0), FG_SUMS_32(d, 32)
      : "l"(a), "l"(b), "r"(add ? 1 : 0));
}

// d[64][128 or 64] += a[64][16] * b[16][128 or 64], a in registers as mma.cuh's, b's rows along N.
__device__ __forceinline__ void WgmmaValues(float (&d)[64], const uint32_t (&a)[4], uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" FG_NAMES_64
               "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;\n"
               : FG_SUMS_32(d, 0), FG_SUMS_32(d, 32)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ __forceinline__ void WgmmaValues(float (&d)[32], const uint32_t (&a)[4], uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" FG_NAMES_32
               "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 1;\n"
               : FG_SUMS_32(d, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef FG_SUMS_8
#undef FG_SUMS_32
#undef FG_NAMES_32
#undef FG_NAMES_64

}  // namespace fg::cuda
