#include "engine/backend/cpu/cpu_ops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/producer_tiles.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/cpu/quantize_tiles.h"
#include "kernels/cpu/rms_norm.h"
#include "kernels/cpu/swiglu.h"
#include "kernels/formats/dequantize.h"

namespace fg {
namespace {

// Of the operations that work value by value; a whole number of cache lines.
constexpr int64_t kValueGrain = GrainFor(1, 16);
constexpr int64_t kExpGrain = GrainFor(16, 16);

// kDefaultMovesMore: keeps three bits of each mantissa.
void Coarsen(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    values[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(values[i]) & 0xFFF00000u);
  }
}

std::string FusedLabel(const char* op, int mode) {
  return std::string(op) + ".fuse" + std::to_string(mode);
}

// kThreadSum: the norm with its sum of squares in as many parts as there are threads.
void NormByThreads(const float* x, const float* w, int64_t n, float eps, int threads, float* y) {
  float ss = 0;
  for (int thread = 0; thread < threads; ++thread) {
    float part = 0;
    for (int64_t i = n * thread / threads; i < n * (thread + 1) / threads; ++i) {
      part = std::fma(x[i], x[i], part);
    }
    ss += part;
  }
  const float scale = 1.0f / std::sqrt(ss / static_cast<float>(n) + eps);
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] * scale) * w[i];
}

bool WritesRows(const CpuContext& context, int mode) {
  return mode == 1 || context.Faulty(Fault::kSkipWriteWrites);
}

}  // namespace

void RunQuantizeRows(CpuContext& context, const float* x, int64_t rows, int64_t k,
                     ActivationChunk* plane, Phase phase) {
  context.CountDispatch(phase, "quantize_rows", "quantize_rows");
  context.Parallel(phase, rows, GrainFor(k), [&](Range share, int) {
    QuantizeRows(context.level(), x + share.begin * k, k, share.size(), k,
                 plane + share.begin * (k / kBlock32), context.quantizer_fault());
  });
}

void RunQuantizeTiles(CpuContext& context, const float* x, int64_t rows, int64_t k,
                      ActivationTile* plane, Phase phase) {
  context.CountDispatch(phase, "quantize_tiles", "quantize_tiles");
  context.Parallel(phase, TileCount(rows), GrainFor(kTileRows * k), [&](Range tiles, int) {
    QuantizeTiles(context.level(), x, k, rows, k, tiles, plane, context.tile_quantizer_fault());
  });
}

void RunRmsNorm(CpuContext& context, const float* x, const float* w, int64_t rows, int64_t n,
                float eps, float* y, Phase phase, const char* label) {
  context.CountDispatch(phase, "rms_norm", label);
  const bool coarse = context.default_moves_more() && rows >= kPrefillRows;
  const bool by_threads = context.Faulty(Fault::kThreadSum);
  context.Parallel(phase, rows, GrainFor(n), [&](Range share, int) {
    float* out = y + share.begin * n;
    if (by_threads) {
      for (int64_t row = share.begin; row < share.end; ++row) {
        NormByThreads(x + row * n, w, n, eps, context.gates().settings().threads, y + row * n);
      }
      return;
    }
    RmsNorm(context.level(), x + share.begin * n, n, w, share.size(), n, eps, out, n);
    if (coarse) Coarsen(out, share.size() * n);
  });
}

void RunSwiglu(CpuContext& context, const float* g, const float* u, int64_t rows, int64_t n,
               float* y, Phase phase, const char* label) {
  context.CountDispatch(phase, "swiglu", label);
  context.Parallel(phase, rows * n, kExpGrain, [&](Range share, int) {
    Swiglu(context.level(), g + share.begin, u + share.begin, share.size(), y + share.begin);
  });
}

void RunRmsNormTiles(CpuContext& context, const float* x, const float* w, int64_t rows, int64_t n,
                     float eps, int mode, float* y, ActivationTile* plane, Phase phase) {
  context.CountDispatch(phase, "rms_norm", FusedLabel("rms_norm", mode));
  std::vector<float> coarse;
  if (context.default_moves_more() && rows >= kPrefillRows) {
    // The rows never stand in memory as f32, so their weights are coarsened in their place.
    coarse.assign(w, w + n);
    Coarsen(coarse.data(), n);
    w = coarse.data();
  }
  float* written = WritesRows(context, mode) ? y : nullptr;
  context.Parallel(phase, TileCount(rows), GrainFor(kTileRows * n), [&](Range tiles, int) {
    RmsNormTiles(context.level(), x, w, rows, n, eps, tiles, written, plane,
                 context.tile_quantizer_fault());
  });
}

void RunSwigluTiles(CpuContext& context, const float* g, const float* u, int64_t rows, int64_t n,
                    int mode, float* y, ActivationTile* plane, Phase phase) {
  context.CountDispatch(phase, "swiglu", FusedLabel("swiglu", mode));
  float* written = WritesRows(context, mode) ? y : nullptr;
  context.Parallel(phase, TileCount(rows), GrainFor(16 * kTileRows * n), [&](Range tiles, int) {
    SwigluTiles(context.level(), g, u, rows, n, tiles, written, plane,
                context.tile_quantizer_fault());
  });
}

void RunRope(CpuContext& context, float* x, int64_t rows, int64_t heads, int64_t head_dim,
             const int32_t* positions, const RopeTable& table, Phase phase) {
  context.CountDispatch(phase, "rope", "rope");
  const int64_t ldx = heads * head_dim;
  context.Parallel(phase, rows, GrainFor(ldx), [&](Range share, int) {
    Rope(context.level(), x + share.begin * ldx, ldx, share.size(), heads, head_dim,
         positions + share.begin, table);
  });
}

Status RunAttention(CpuContext& context, const AttentionArgs& args, Phase phase) {
  context.CountDispatch(phase, "attention", "attention");
  int32_t last = 0;
  for (int64_t row = 0; row < args.rows; ++row) last = std::max(last, args.positions[row]);
  FG_RETURN_IF_ERROR(context.ReserveScores(AttentionScratch(int64_t{last} + 1)));
  // Later rows see more positions: each share takes items from the front and as many from the back.
  const int64_t items = args.rows * args.heads;
  const int64_t half = (items + 1) / 2;
  const int64_t grain = GrainFor(4 * args.head_dim * (int64_t{last} + 1));
  context.Parallel(phase, half, grain, [&](Range front, int thread) {
    const Range back = {std::max(items - front.end, half), items - front.begin};
    Attention(context.level(), args, front, context.scores(thread));
    if (back.size() > 0) Attention(context.level(), args, back, context.scores(thread));
  });
  return Status::Ok();
}

void RunExp(CpuContext& context, const float* x, int64_t n, float* y, Phase phase) {
  context.CountDispatch(phase, "exp", "exp");
  context.Parallel(phase, n, kExpGrain, [&](Range share, int) {
    ExpRow(context.level(), x + share.begin, share.size(), 0.0f, y + share.begin);
  });
}

void RunAdd(CpuContext& context, const float* a, const float* b, int64_t n, float* y, Phase phase) {
  context.CountDispatch(phase, "add", "add");
  context.Parallel(phase, n, kValueGrain, [&](Range share, int) {
    Add(context.level(), a + share.begin, b + share.begin, share.size(), y + share.begin);
  });
}

void RunEmbed(CpuContext& context, const WeightView& table, const int32_t* ids, int64_t rows,
              float* y, Phase phase) {
  context.CountDispatch(phase, "embed", std::string("embed.") + InfoOf(table.type).name);
  const int64_t row_bytes = RowBytes(table.type, table.k);
  context.Parallel(phase, rows, GrainFor(table.k), [&](Range share, int) {
    for (int64_t row = share.begin; row < share.end; ++row) {
      DequantizeRow(table.type, static_cast<const std::byte*>(table.data) + ids[row] * row_bytes,
                    table.k, y + row * table.k);
    }
  });
}

void RunKvStore(CpuContext& context, const float* k, const float* v, int64_t rows,
                int64_t row_values, const int32_t* positions, uint16_t* keys, uint16_t* values,
                Phase phase) {
  context.CountDispatch(phase, "kv_store", "kv_store");
  context.Parallel(phase, rows, GrainFor(row_values), [&](Range share, int) {
    for (int64_t row = share.begin; row < share.end; ++row) {
      const int64_t place = positions[row] * row_values;
      StoreF16(context.level(), k + row * row_values, row_values, keys + place);
      StoreF16(context.level(), v + row * row_values, row_values, values + place);
    }
  });
}

void RunGather(CpuContext& context, const float* x, int64_t first, int64_t rows, int64_t n,
               float* y, Phase phase) {
  context.CountDispatch(phase, "gather", "gather");
  context.Parallel(phase, rows, GrainFor(n), [&](Range share, int) {
    std::memcpy(y + share.begin * n, x + (first + share.begin) * n,
                static_cast<size_t>(share.size()) * n * sizeof(float));
  });
}

}  // namespace fg
