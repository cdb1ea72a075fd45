#include <algorithm>
#include <cmath>

#include "kernels/cpu/mmq_forms.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

constexpr int kTileOuts = 4;

// Super-block `s` of several outputs, expanded to int8 once for all rows of a row block.
struct Tile {
  int8_t q[kTileOuts][kSuperBlock];
  float ws[kTileOuts][8];
  float wm[kTileOuts][8];
};

void Expand(const BlockQ4_K& block, int8_t* q, float* ws, float* wm) {
  const float d = F16ToF32(block.d);
  const float dmin = F16ToF32(block.dmin);
  for (int pair = 0; pair < 4; ++pair) {
    for (int i = 0; i < 32; ++i) {
      const uint8_t packed = block.q[32 * pair + i];
      q[64 * pair + i] = static_cast<int8_t>(packed & 15);
      q[64 * pair + 32 + i] = static_cast<int8_t>(packed >> 4);
    }
  }
  for (int j = 0; j < 8; ++j) {
    const ScaleMin sm = UnpackScaleMin(block.s, j);
    ws[j] = d * sm.scale;
    wm[j] = -dmin * sm.min;
  }
}

// acc[kTileOuts] of one row goes on over the tile's eight chunks.
void MultiplyRow(const Tile& tile, int outs, const ActivationChunk* a, float* acc) {
  for (int o = 0; o < outs; ++o) {
    float sum = acc[o];
    for (int j = 0; j < 8; ++j) {
      const int8_t* q = tile.q[o] + 32 * j;
      int isum = 0;
      for (int i = 0; i < 32; ++i) isum += q[i] * a[j].q[i];
      sum = std::fma(static_cast<float>(isum), tile.ws[o][j] * a[j].d, sum);
      const float msum = static_cast<float>(a[j].sum[0] + a[j].sum[1]);
      sum = std::fma(tile.wm[o][j], a[j].d * msum, sum);
    }
    acc[o] = sum;
  }
}

template <KernelFault kFault>
void RunTile(const MmqArgs& args, int64_t out, int outs, int64_t first, int rows) {
  const int64_t supers = args.k / kSuperBlock;
  const int64_t used = kFault == KernelFault::kWrongTail ? supers - 1 : supers;
  const BlockQ4_K* w = static_cast<const BlockQ4_K*>(args.w) + out * supers;
  float acc[kMmqRowBlock][kTileOuts] = {};
  Tile tile;
  for (int64_t s = 0; s < used; ++s) {
    for (int o = 0; o < outs; ++o) Expand(w[o * supers + s], tile.q[o], tile.ws[o], tile.wm[o]);
    for (int r = 0; r < rows; ++r) {
      MultiplyRow(tile, outs, args.a + ((first + r) * supers + s) * 8, acc[r]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    float* y = args.y + (first + r) * args.ldy + out;
    for (int o = 0; o < outs; ++o) {
      y[o] = args.bias == nullptr ? acc[r][o] : acc[r][o] + args.bias[out + o];
    }
  }
}

template <KernelFault kFault>
void Run(const MmqArgs& args, Range outs) {
  for (int64_t first = 0; first < args.rows; first += kMmqRowBlock) {
    const int rows = static_cast<int>(std::min<int64_t>(kMmqRowBlock, args.rows - first));
    for (int64_t o = outs.begin; o < outs.end; o += kTileOuts) {
      const int count = static_cast<int>(std::min<int64_t>(kTileOuts, outs.end - o));
      RunTile<kFault>(args, o, count, first, rows);
    }
  }
}

}  // namespace

void MmqQ4KRawPlain(const MmqArgs& args, Range outs, KernelFault fault) {
  if (fault == KernelFault::kWrongTail) return Run<KernelFault::kWrongTail>(args, outs);
  Run<KernelFault::kNone>(args, outs);
}

}  // namespace fg
