#include "kernels/cpu/mmq_tiles.h"

#include <cassert>
#include <vector>

#include "kernels/cpu/mmq_tiles_forms.h"

namespace fg {
namespace {

void MmqTilesQ4K(CpuLevel level, const MmqTilesArgs& args, Range outs, KernelFault fault) {
  if (level >= CpuLevel::kAvx512) return MmqTilesQ4KAvx512(args, outs, fault);
  if (level >= CpuLevel::kAvx2) return MmqTilesQ4KAvx2(args, outs, fault);
  MmqTilesQ4KPlain(args, outs, fault);
}

void MmqTilesQ6K(CpuLevel level, const MmqTilesArgs& args, Range outs, KernelFault fault) {
  if (level >= CpuLevel::kAvx512) return MmqTilesQ6KAvx512(args, outs, fault);
  if (level >= CpuLevel::kAvx2) return MmqTilesQ6KAvx2(args, outs, fault);
  MmqTilesQ6KPlain(args, outs, fault);
}

// The defect kChunkOffPlane, once for all levels: lane r of a tile finds chunk 8*s + r/8 in place
// of chunk 8*s + j. The index stays inside the plane, so that it is a wrong value and no overrun.
std::vector<ActivationTile> OffPlane(const MmqTilesArgs& args) {
  const int64_t chunks = args.k / kBlock32;
  std::vector<ActivationTile> moved(static_cast<size_t>(TileCount(args.rows) * chunks));
  for (size_t at = 0; at < moved.size(); ++at) {
    for (int r = 0; r < kTileRows; ++r) {
      const ActivationTile& from = args.a[at / 8 * 8 + static_cast<size_t>(r) / 8];
      for (int i = 0; i < 8; ++i) {
        for (int b = 0; b < 4; ++b) moved[at].q[i][r][b] = from.q[i][r][b];
      }
      moved[at].d[r] = from.d[r];
      for (int half = 0; half < 2; ++half) moved[at].sum[r][half] = from.sum[r][half];
    }
  }
  return moved;
}

}  // namespace

void MmqTiles(CpuLevel level, const MmqTilesArgs& args, Range outs, KernelFault fault) {
  assert(args.type == TensorType::kQ4_K || args.type == TensorType::kQ6_K);
  assert(args.k % kSuperBlock == 0);
  assert(outs.begin >= 0 && outs.end <= args.out_total);
  switch (args.type) {
    case TensorType::kQ4_K:
      if (fault == KernelFault::kChunkOffPlane) {
        const std::vector<ActivationTile> moved = OffPlane(args);
        MmqTilesArgs wrong = args;
        wrong.a = moved.data();
        return MmqTilesQ4K(level, wrong, outs, KernelFault::kNone);
      }
      return MmqTilesQ4K(level, args, outs, fault);
    case TensorType::kQ6_K:
      return MmqTilesQ6K(level, args, outs, fault);
    default:
      return;
  }
}

}  // namespace fg
