// The operations against plain formulas in double, over threads, with sentinels round every output.
#include "engine/backend/cpu/cpu_ops.h"

#include <gtest/gtest.h>

#include <utility>

#include "engine/backend/cpu/cpu_ops_testing.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of cpu_ops_testing.h

TEST(RunOps, NormSwigluAddExpGatherEmbedAreRight) {
  for (const char* threads : {"FG_THREADS=1", "FG_THREADS=3"}) {
    Fixture fixture({threads});
    CpuContext& context = fixture.context;
    const int64_t rows = 6000, n = 300;  // enough work for several threads
    const std::vector<float> x = RandomValues(rows * n, 1, 4.0f), u = RandomValues(rows * n, 2),
                             w = RandomValues(n, 3);
    std::vector<double> norm(rows * n), swiglu(rows * n), sum(rows * n), exp(rows * n);
    for (int64_t row = 0; row < rows; ++row) {
      double squares = 0;
      for (int64_t i = 0; i < n; ++i) squares += double{x[row * n + i]} * x[row * n + i];
      for (int64_t i = row * n; i < (row + 1) * n; ++i) {
        norm[i] = x[i] / std::sqrt(squares / n + 1e-5) * w[i - row * n];
        swiglu[i] = x[i] / (1 + std::exp(-double{x[i]})) * u[i];
        sum[i] = double{x[i]} + u[i];
        exp[i] = std::exp(double{x[i]});
      }
    }
    const Phase phase = Phase::kPrefill;
    Guarded y1(rows * n), y2(rows * n), y3(rows * n), y4(rows * n), y5(7 * n);
    RunRmsNorm(context, x.data(), w.data(), rows, n, 1e-5f, y1.data(), phase);
    RunSwiglu(context, x.data(), u.data(), rows, n, y2.data(), phase);
    RunAdd(context, x.data(), u.data(), rows * n, y3.data(), phase);
    RunExp(context, x.data(), rows * n, y4.data(), phase);
    RunGather(context, x.data(), 5, 7, n, y5.data(), phase);
    EXPECT_LT(Error(y1.Take(), norm), 1e-5);
    EXPECT_LT(Error(y2.Take(), swiglu), 1e-5);
    EXPECT_LT(Error(y3.Take(), sum), 1e-6);
    EXPECT_LT(Error(y4.Take(), exp), 1e-4);
    EXPECT_TRUE(SameBits(y5.Take(), {x.begin() + 5 * n, x.begin() + 12 * n}));
    for (const char* op : {"rms_norm", "swiglu", "add", "exp", "gather"}) {
      EXPECT_EQ(fixture.Dispatched(phase, op, op), 1u) << op;
    }
    EXPECT_EQ(fixture.Launches(phase), 5u);
  }
}

TEST(RunOps, EmbedTakesRowsOfTheTable) {
  Fixture fixture({});
  const Weight table(TensorType::kQ6_K, 256, 5, 1);
  const std::vector<int32_t> ids = {4, 0, 4};
  Guarded y(3 * 256);
  RunEmbed(fixture.context, table.view, ids.data(), 3, y.data(), Phase::kDecode);
  const std::vector<float> got = y.Take();
  for (size_t row = 0; row < 3; ++row) {
    float want[256];
    ASSERT_TRUE(DequantizeRow(TensorType::kQ6_K, table.data.data() + ids[row] * 210, 256, want));
    EXPECT_EQ(std::memcmp(&got[row * 256], want, sizeof(want)), 0);
  }
  EXPECT_EQ(fixture.Dispatched(Phase::kDecode, "embed", "embed.q6_K"), 1u);
}

TEST(RunOps, AttentionReadsWhatKvStoreWrote) {
  const int64_t rows = 201, heads = 3, kv_heads = 1, dim = 32, positions = 211;
  const std::vector<float> q = RandomValues(rows * heads * dim, 1),
                           k = RandomValues(positions * kv_heads * dim, 2),
                           v = RandomValues(positions * kv_heads * dim, 3);
  std::vector<int32_t> all(positions), last(rows);
  for (int32_t p = 0; p < positions; ++p) all[p] = p;
  for (int32_t row = 0; row < rows; ++row) last[row] = 10 + row;
  std::vector<double> want(rows * heads * dim, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t kv = head / 3 * dim;
      std::vector<double> p(last[row] + 1);
      double total = 0;
      for (int64_t at = 0; at <= last[row]; ++at) {
        double score = 0;
        for (int64_t i = 0; i < dim; ++i) {
          score += q[(row * heads + head) * dim + i] *
                   F16ToF32(F32ToF16(k[at * kv_heads * dim + kv + i]));
        }
        total += p[at] = std::exp(score / std::sqrt(static_cast<double>(dim)));
      }
      for (int64_t at = 0; at <= last[row]; ++at) {
        for (int64_t i = 0; i < dim; ++i) {
          want[(row * heads + head) * dim + i] +=
              p[at] / total * F16ToF32(F32ToF16(v[at * kv_heads * dim + kv + i]));
        }
      }
    }
  }
  // An odd number of rows and heads leaves an item in the middle.
  for (const char* threads : {"FG_THREADS=1", "FG_THREADS=2", "FG_THREADS=3"}) {
    Fixture fixture({threads});
    std::vector<uint16_t> keys(positions * kv_heads * dim, 0xFFFF), values = keys;
    RunKvStore(fixture.context, k.data(), v.data(), positions, kv_heads * dim, all.data(),
               keys.data(), values.data(), Phase::kPrefill);
    Guarded y(rows * heads * dim);
    const AttentionArgs args = {q.data(),    heads * dim, keys.data(), values.data(),
                                last.data(), rows,        heads,       kv_heads,
                                dim,         y.data(),    heads * dim};
    ASSERT_TRUE(RunAttention(fixture.context, args, Phase::kPrefill).ok());
    EXPECT_LT(Error(y.Take(), want), 1e-6);
    EXPECT_EQ(fixture.Dispatched(Phase::kPrefill, "kv_store", "kv_store"), 1u);
    EXPECT_EQ(fixture.Dispatched(Phase::kPrefill, "attention", "attention"), 1u);
  }
}

TEST(RunOps, RopeTurnsEachRowToItsPosition) {
  const int64_t rows = 3000, heads = 8, dim = 64;
  const RopeTable table = MakeRopeTable(3100, dim, 10000.0);
  const std::vector<float> x = RandomValues(rows * heads * dim, 1);
  std::vector<int32_t> positions(rows);
  std::vector<double> want(x.size());
  for (int64_t row = 0; row < rows; ++row) {
    positions[row] = static_cast<int32_t>(3099 - row);
    for (int64_t at = row * heads * dim; at < (row + 1) * heads * dim; at += dim) {
      for (int64_t i = 0; i < dim / 2; ++i) {
        const double angle = positions[row] * std::pow(10000.0, -2.0 * i / dim);
        want[at + i] = x[at + i] * std::cos(angle) - x[at + i + dim / 2] * std::sin(angle);
        want[at + i + dim / 2] =
            x[at + i + dim / 2] * std::cos(angle) + x[at + i] * std::sin(angle);
      }
    }
  }
  for (const char* threads : {"FG_THREADS=1", "FG_THREADS=3"}) {
    Fixture fixture({threads});
    Guarded y(x.size());
    std::copy(x.begin(), x.end(), y.data());
    RunRope(fixture.context, y.data(), rows, heads, dim, positions.data(), table, Phase::kPrefill);
    EXPECT_LT(Error(y.Take(), want), 1e-6);
  }
}

TEST(RunOps, QuantizeRowsIsThePlane) {
  Fixture fixture({"FG_THREADS=2"}), coarse({"FG_FAULT=coarse_activations"});
  const std::vector<float> x = RandomValues(6000 * 256, 1);
  std::vector<ActivationChunk> plane(6000 * 8), other(6000 * 8);
  RunQuantizeRows(fixture.context, x.data(), 6000, 256, plane.data(), Phase::kPrefill);
  RunQuantizeRows(coarse.context, x.data(), 6000, 256, other.data(), Phase::kPrefill);
  double worst = 0, worst_coarse = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, std::fabs(plane[i / 32].q[i % 32] * double{plane[i / 32].d} - x[i]));
    worst_coarse =
        std::max(worst_coarse, std::fabs(other[i / 32].q[i % 32] * double{other[i / 32].d} - x[i]));
  }
  EXPECT_LT(worst, 0.51 / 127);
  EXPECT_GT(worst_coarse, 2.0 / 127);
  EXPECT_EQ(fixture.Dispatched(Phase::kPrefill, "quantize_rows", "quantize_rows"), 1u);
}

// Bytes of a plane, to compare.
std::string Bytes(const std::vector<ActivationTile>& plane) {
  return {reinterpret_cast<const char*>(plane.data()), plane.size() * sizeof(ActivationTile)};
}

std::vector<ActivationTile> Unwritten(int64_t rows, int64_t k) {
  std::vector<ActivationTile> plane(TileCount(rows) * (k / 32));
  std::memset(static_cast<void*>(plane.data()), 0xA5, plane.size() * sizeof(ActivationTile));
  return plane;
}

// The separate prepass of the plain producers' rows.
std::string Prepassed(const std::vector<float>& rows_values, int64_t rows, int64_t k) {
  Fixture fixture({});
  std::vector<ActivationTile> plane = Unwritten(rows, k);
  RunQuantizeTiles(fixture.context, rows_values.data(), rows, k, plane.data(), PhaseOfRows(rows));
  EXPECT_EQ(fixture.Dispatched(PhaseOfRows(rows), "quantize_tiles", "quantize_tiles"), 1u);
  return Bytes(plane);
}

TEST(RunOps, FusedProducersGiveThePlaneOfThePrepass) {
  const int64_t n = 512;
  for (const int64_t rows : {1, 16, 37, 2050}) {
    std::vector<float> x = RandomValues(rows * n, 1, 4.0f), u = RandomValues(rows * n, 2);
    x[5] = 30000.0f;  // an outlier
    const std::vector<float> w = RandomValues(n, 3);
    const Phase phase = PhaseOfRows(rows);
    Fixture plain({});
    Guarded norm(rows * n), product(rows * n);
    RunRmsNorm(plain.context, x.data(), w.data(), rows, n, 1e-5f, norm.data(), phase);
    RunSwiglu(plain.context, x.data(), u.data(), rows, n, product.data(), phase);
    const std::vector<float> want_norm = norm.Take(), want_product = product.Take();
    const std::string norm_plane = Prepassed(want_norm, rows, n),
                      product_plane = Prepassed(want_product, rows, n);
    for (const char* threads : {"FG_THREADS=1", "FG_THREADS=3"}) {
      for (const int mode : {1, 2}) {
        Fixture fixture({threads});
        Guarded y1(rows * n), y2(rows * n);
        std::vector<ActivationTile> plane1 = Unwritten(rows, n), plane2 = Unwritten(rows, n);
        RunRmsNormTiles(fixture.context, x.data(), w.data(), rows, n, 1e-5f, mode, y1.data(),
                        plane1.data(), phase);
        RunSwigluTiles(fixture.context, x.data(), u.data(), rows, n, mode, y2.data(), plane2.data(),
                       phase);
        EXPECT_TRUE(Bytes(plane1) == norm_plane) << rows << " " << mode;
        EXPECT_TRUE(Bytes(plane2) == product_plane) << rows << " " << mode;
        for (const auto& [y, want] : {std::pair{y1.Take(), want_norm}, {y2.Take(), want_product}}) {
          if (mode == 1) {
            EXPECT_TRUE(SameBits(y, want));
          } else {
            for (const float value : y) ASSERT_TRUE(std::isnan(value));  // as it was
          }
        }
        const std::string fused = ".fuse" + std::to_string(mode);
        EXPECT_EQ(fixture.Dispatched(phase, "rms_norm", ("rms_norm" + fused).c_str()), 1u);
        EXPECT_EQ(fixture.Dispatched(phase, "swiglu", ("swiglu" + fused).c_str()), 1u);
      }
    }
  }
}

TEST(RunOps, PlantedFaultsOfTheFusedProducersShow) {
  const int64_t rows = 17, n = 64;
  const std::vector<float> x = RandomValues(rows * n, 1), w = RandomValues(n, 3);
  struct Made {
    std::string plane;
    bool wrote;
  };
  const auto run = [&](const Environment& environment, int mode) {
    Fixture fixture(environment);
    std::vector<float> y(rows * n, std::nanf(""));
    std::vector<ActivationTile> plane = Unwritten(rows, n);
    RunRmsNormTiles(fixture.context, x.data(), w.data(), rows, n, 1e-5f, mode, y.data(),
                    plane.data(), Phase::kPrefill);
    return Made{Bytes(plane), !std::isnan(y[0])};
  };
  const Made right = run({}, 2);
  EXPECT_FALSE(right.wrote);
  EXPECT_TRUE(run({"FG_FAULT=skip_write_writes"}, 2).wrote);
  EXPECT_EQ(run({"FG_FAULT=skip_write_writes"}, 2).plane, right.plane);
  EXPECT_NE(run({"FG_FAULT=tail_rows_dirty"}, 2).plane, right.plane);
  EXPECT_NE(run({"FG_FAULT=coarse_activations"}, 2).plane, right.plane);
  EXPECT_NE(run({"FG_FAULT=default_moves_more"}, 2).plane, right.plane);
  EXPECT_EQ(run({"FG_FAULT=default_moves_more", "FG_MMQ=1"}, 2).plane, right.plane);
}

TEST(RunOps, TheDefaultMovesMoreOnlyWhereAFaultSaysSo) {
  const std::vector<float> x = RandomValues(16 * 64, 1), w(64, 1.0f);
  const auto run = [&](const Environment& environment, int64_t rows) {
    Fixture fixture(environment);
    Guarded y(rows * 64);
    RunRmsNorm(fixture.context, x.data(), w.data(), rows, 64, 1e-5f, y.data(), PhaseOfRows(rows));
    return y.Take();
  };
  const std::string fault = "FG_FAULT=default_moves_more";
  EXPECT_FALSE(SameBits(run({fault}, 16), run({}, 16)));
  EXPECT_TRUE(SameBits(run({fault}, 15), run({}, 15)));
  EXPECT_TRUE(SameBits(run({fault, "FG_MMQ=0"}, 16), run({}, 16)));
}

TEST(RunOps, ThreadsMoveANormsBitsOnlyWhereAFaultSaysSo) {
  const int64_t n = 300;
  const std::vector<float> x = RandomValues(n, 71), w = RandomValues(n, 72);
  const auto norm = [&](const Environment& environment) {
    Fixture fixture(environment);
    std::vector<float> y(n);
    RunRmsNorm(fixture.context, x.data(), w.data(), 1, n, 1e-6f, y.data(), Phase::kDecode);
    return y;
  };
  const std::string fault = "FG_FAULT=thread_sum";
  EXPECT_EQ(norm({"FG_THREADS=2"}), norm({"FG_THREADS=3"}));
  EXPECT_EQ(norm({"FG_THREADS=2", fault}), norm({"FG_THREADS=2", fault}));
  EXPECT_NE(norm({"FG_THREADS=2", fault}), norm({"FG_THREADS=3", fault}));
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_NEAR(norm({"FG_THREADS=3", fault})[i], norm({"FG_THREADS=3"})[i], 1e-5) << i;
  }
}

}  // namespace
}  // namespace fg
