#include "kernels/cuda/matvec.h"

#include <algorithm>

#include "kernels/cuda/matvec_launch.cuh"
#include "kernels/cuda/matvec_order.h"
#include "kernels/cuda/matvec_share.h"

namespace fg::cuda {
namespace matvec {

const DeviceFacts& Facts() {
  static const DeviceFacts facts = [] {
    DeviceFacts f;
    int device = 0;
    f.error = cudaGetDevice(&device);
    if (f.error == cudaSuccess) {
      f.error = cudaDeviceGetAttribute(&f.multiprocessors, cudaDevAttrMultiProcessorCount, device);
    }
    if (f.error == cudaSuccess) {
      f.error =
          cudaDeviceGetAttribute(&f.shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    return f;
  }();
  return facts;
}

int64_t ShareOutBlocks(int tile_rows, int blocks_on_each, Launch* launch) {
  int64_t tiles = 0;
  for (int i = 0; i < launch->count; ++i) {
    tiles += (launch->weight[i].out + tile_rows - 1) / tile_rows;
  }
  launch->tiles = TilesOfBlock(tiles, std::max(1, Facts().multiprocessors * blocks_on_each));
  const int block_rows = tile_rows * launch->tiles;
  int64_t blocks = 0;
  for (int i = 0; i < launch->count; ++i) {
    launch->weight[i].first_block = static_cast<int>(blocks);
    blocks += (launch->weight[i].out + block_rows - 1) / block_rows;
  }
  return blocks;
}

namespace {

bool IsFloat(TensorType type) {
  return type == TensorType::kF32 || type == TensorType::kF16 || type == TensorType::kBF16;
}

int BlockValues(TensorType type) {
  return IsFloat(type) ? 1 : IsSuperBlockType(type) ? kSuperBlock : kBlock32;
}

bool IsAligned(const void* pointer, uintptr_t bytes) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

bool IsValid(const MatvecArgs& args) {
  if (args.rows < 1 || args.rows > kMostMatvecRows || args.k < 1 || args.out < 0) return false;
  if (ResidentRowBytes(args.type, BlockValues(args.type)) == 0) return false;  // no such type
  if (args.k % BlockValues(args.type) != 0 || args.w == nullptr) return false;
  if (args.out > INT32_MAX || args.k > INT32_MAX) return false;
  if (IsFloat(args.type)) return args.x != nullptr;
  return args.plane != nullptr && IsAligned(args.plane, 8) && IsAligned(args.w, 16);
}

Weight WeightOf(const MatvecArgs& args) {
  return {static_cast<const uint8_t*>(args.w), args.bias, args.residual, args.y, args.out,
          ResidentRowBytes(args.type, args.k), 0,         args.type};
}

Launch LaunchOf(const MatvecArgs& args) {
  Launch launch = {};
  launch.plane = args.plane;
  launch.x = args.x;
  launch.k = args.k;
  launch.rows = static_cast<int>(args.rows);
  launch.weight[0] = WeightOf(args);
  launch.count = 1;
  return launch;
}

cudaError_t StartOne(const Launch& launch, bool gate_up, cudaStream_t stream) {
  switch (launch.weight[0].type) {
    case TensorType::kQ4_0:
      return StartQ4_0(launch, gate_up, stream);
    case TensorType::kQ5_0:
      return StartQ5_0(launch, gate_up, stream);
    case TensorType::kQ8_0:
      return StartQ8_0(launch, gate_up, stream);
    case TensorType::kQ4_K:
      return StartQ4_K(launch, gate_up, stream);
    case TensorType::kQ6_K:
      return StartQ6_K(launch, gate_up, stream);
    default:
      return StartFloat(launch, gate_up, stream);
  }
}

// What a launch can do together: one type, or q4_K and q6_K.
bool RunTogether(TensorType a, TensorType b) {
  return a == b || (IsSuperBlockType(a) && IsSuperBlockType(b));
}

cudaError_t StartTogether(const Launch& launch, cudaStream_t stream) {
  for (int i = 1; i < launch.count; ++i) {
    if (launch.weight[i].type != launch.weight[0].type) return StartQ4_KWithQ6_K(launch, stream);
  }
  return StartOne(launch, false, stream);
}

bool AreOfOneInput(const MatvecArgs& a, const MatvecArgs& b) {
  return a.rows == b.rows && a.k == b.k && a.plane == b.plane && a.x == b.x;
}

}  // namespace
}  // namespace matvec

using namespace matvec;  // NOLINT: the parts of this very file

cudaError_t Matvec(const MatvecArgs& args, cudaStream_t stream) {
  return MatvecThree(&args, 1, stream);
}

cudaError_t MatvecThree(const MatvecArgs args[], int count, cudaStream_t stream) {
  if (count < 1 || count > kMostWeights) return cudaErrorInvalidValue;
  for (int i = 0; i < count; ++i) {
    const bool written = args[i].y != nullptr || args[i].out == 0;
    if (!IsValid(args[i]) || !written || !AreOfOneInput(args[i], args[0])) {
      return cudaErrorInvalidValue;
    }
  }
  bool done[kMostWeights] = {};
  for (int first = 0; first < count; ++first) {
    Launch launch = LaunchOf(args[first]);
    launch.count = 0;
    for (int i = first; i < count; ++i) {
      if (done[i] || !RunTogether(args[first].type, args[i].type)) continue;
      done[i] = true;
      if (args[i].out > 0) launch.weight[launch.count++] = WeightOf(args[i]);
    }
    if (launch.count == 0) continue;
    const cudaError_t error = StartTogether(launch, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t MatvecGateUp(const MatvecArgs& gate, const MatvecArgs& up, float* y,
                         ActivationChunk* chunks, cudaStream_t stream) {
  const bool alike = AreOfOneInput(gate, up) && gate.type == up.type && gate.out == up.out;
  const bool plain = gate.bias == nullptr && gate.residual == nullptr && up.bias == nullptr &&
                     up.residual == nullptr;
  if (!alike || !plain || !IsValid(gate) || !IsValid(up)) return cudaErrorInvalidValue;
  if (chunks != nullptr && (gate.out % kBlock32 != 0 || !IsAligned(chunks, 8))) {
    return cudaErrorInvalidValue;
  }
  if (gate.out == 0 || (y == nullptr && chunks == nullptr)) return cudaSuccess;
  Launch launch = LaunchOf(gate);
  launch.weight[1] = WeightOf(up);
  launch.count = 2;
  launch.y = y;
  launch.chunks = chunks;
  return StartOne(launch, true, stream);
}

}  // namespace fg::cuda
