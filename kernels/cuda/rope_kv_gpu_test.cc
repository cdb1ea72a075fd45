#include "kernels/cuda/rope_kv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/rope.h"
#include "kernels/cuda/activations.h"
#include "kernels/cuda/activations_testing.h"
#include "kernels/cuda/gpu_testing.h"

namespace fg::cuda {
namespace {

using ::fg::testing::FirstUnequal;
using ::fg::testing::kRowCounts;
using ::fg::testing::RowsWithAll;

constexpr int64_t kPositions = 300;

struct Shape {
  int64_t heads, kv_heads, head_dim, dims;  // dims: how many of a head turn
};
// The models', part of a head, heads too odd for four at a time, one pair.
const std::vector<Shape> kShapes = {{28, 4, 128, 128}, {14, 2, 64, 64}, {4, 2, 64, 32},
                                    {3, 1, 80, 20},    {2, 2, 6, 6},    {3, 1, 10, 4},
                                    {1, 1, 2, 2},      {5, 5, 256, 256}};

// Scattered, so that rows and positions do not follow one another; no two the same.
std::vector<int32_t> Positions(int64_t rows) {
  std::vector<int32_t> positions;
  for (int64_t r = 0; r < rows; ++r) {
    positions.push_back(static_cast<int32_t>((r * 7 + 11) % kPositions));
  }
  return positions;
}

struct DeviceTables {
  fg::RopeTable host;
  DeviceArray<float> cosine, sine;

  explicit DeviceTables(int64_t dims)
      : host(MakeRopeTable(kPositions, dims, 10000.0)), cosine(host.cosine), sine(host.sine) {}
  RopeTables Of() const { return {cosine.data(), sine.data(), host.pairs}; }
};

// Finite but for one NaN and one infinity: bits of a NaN that turns are nobody's promise.
std::vector<float> Values(int64_t rows, int64_t width, uint32_t seed) {
  return RowsWithAll(rows, width, seed);
}

TEST(RopeGpuTest, CpuBits) {
  for (const Shape& shape : kShapes) {
    const DeviceTables tables(shape.dims);
    for (const int64_t rows : kRowCounts) {
      const int64_t width = shape.heads * shape.head_dim;
      const std::vector<float> x = Values(rows, width, static_cast<uint32_t>(rows + width));
      const std::vector<int32_t> positions = Positions(rows);
      std::vector<float> expected = x;
      fg::Rope(CpuLevel::kPlain, expected.data(), width, rows, shape.heads, shape.head_dim,
               positions.data(), tables.host);
      DeviceArray<float> in(x), y(x.size());
      const DeviceArray<int32_t> at(positions);
      const std::string where = std::to_string(rows) + " rows of " + std::to_string(width);
      ExpectOk(Rope(in.data(), at.data(), tables.Of(), rows, shape.heads, shape.head_dim, y.data(),
                    nullptr),
               "Rope");
      EXPECT_EQ(FirstDifference(expected, y.Host()), "") << where;
      EXPECT_EQ(FirstUnequal(x, in.Host()), "") << where;
      ExpectOk(Rope(in.data(), at.data(), tables.Of(), rows, shape.heads, shape.head_dim, in.data(),
                    nullptr),
               "Rope in place");
      EXPECT_EQ(FirstUnequal(y.Host(), in.Host()), "") << where;
    }
  }
}

// A cache in which nothing but the rows' places is written, and those as on the CPU.
std::vector<uint16_t> Stored(const std::vector<float>& x, const std::vector<int32_t>& positions,
                             int64_t n) {
  std::vector<uint16_t> cache(static_cast<size_t>(kPositions * n), 0xA5A5);
  for (size_t r = 0; r < positions.size(); ++r) {
    StoreF16(CpuLevel::kPlain, x.data() + static_cast<int64_t>(r) * n, n,
             cache.data() + positions[r] * n);
  }
  return cache;
}

TEST(KvStoreGpuTest, CpuBits) {
  for (const int64_t n : {1, 2, 32, 100, 256, 333, 512}) {
    for (const int64_t rows : kRowCounts) {
      const std::vector<float> k = Values(rows, n, static_cast<uint32_t>(n + rows));
      const std::vector<float> v = Values(rows, n, static_cast<uint32_t>(n + rows + 1));
      const std::vector<int32_t> positions = Positions(rows);
      const DeviceArray<float> k_in(k), v_in(v);
      const DeviceArray<int32_t> at(positions);
      const size_t cache = static_cast<size_t>(kPositions * n);
      DeviceArray<uint16_t> keys(cache), values(cache);
      ExpectOk(KvStore(k_in.data(), v_in.data(), at.data(), rows, n, keys.data(), values.data(),
                       nullptr),
               "KvStore");
      EXPECT_EQ(FirstUnequal(Stored(k, positions, n), keys.Host()), "") << rows << " of " << n;
      EXPECT_EQ(FirstUnequal(Stored(v, positions, n), values.Host()), "") << rows << " of " << n;
    }
  }
}

// Every f16, the ties between them, and what lies beyond.
TEST(KvStoreGpuTest, EveryHalf) {
  std::vector<float> x;
  for (uint32_t h = 0; h < 0x7C00; ++h) {
    const float value = F16ToF32(static_cast<uint16_t>(h));
    const float next = h == 0x7BFF ? 65536.0f : F16ToF32(static_cast<uint16_t>(h + 1));
    const float tie = value + (next - value) / 2;
    for (const float v : {value, tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)}) {
      x.push_back(v);
      x.push_back(-v);
    }
  }
  const int64_t n = static_cast<int64_t>(x.size());
  const std::vector<int32_t> positions = {0};
  const DeviceArray<float> in(x);
  const DeviceArray<int32_t> at(positions);
  DeviceArray<uint16_t> keys(x.size()), values(x.size());
  ExpectOk(KvStore(in.data(), in.data(), at.data(), 1, n, keys.data(), values.data(), nullptr),
           "KvStore");
  std::vector<uint16_t> expected(x.size());
  StoreF16(CpuLevel::kPlain, x.data(), n, expected.data());
  EXPECT_EQ(FirstUnequal(expected, keys.Host()), "");
  EXPECT_EQ(FirstUnequal(expected, values.Host()), "");
}

struct Fused {
  std::vector<float> q, k, v, scale, q_bias, k_bias, v_bias;
  std::vector<int32_t> positions;

  Fused(const Shape& s, int64_t rows) : positions(Positions(rows)) {
    const uint32_t seed = static_cast<uint32_t>(rows * 10 + s.head_dim);
    q = Values(rows, s.heads * s.head_dim, seed);
    k = Values(rows, s.kv_heads * s.head_dim, seed + 1);
    v = Values(rows, s.kv_heads * s.head_dim, seed + 2);
    q_bias = testing::Gaussian(s.heads * s.head_dim, seed + 3, 20);
    k_bias = testing::Gaussian(s.kv_heads * s.head_dim, seed + 4, 20);
    v_bias = testing::Gaussian(s.kv_heads * s.head_dim, seed + 5, 20);
    for (int64_t r = 0; r < rows; ++r) scale.push_back(std::ldexp(1.0f, static_cast<int>(r % 3)));
  }
};

void ExpectFused(const Shape& s, int64_t rows, bool scaled, bool biased, bool in_place) {
  const Fused in(s, rows);
  const DeviceTables tables(s.dims);
  const int64_t q_width = s.heads * s.head_dim, width = s.kv_heads * s.head_dim;
  const size_t cache = static_cast<size_t>(kPositions * width);
  DeviceArray<float> q(in.q), k(in.k), v(in.v), q_out(in.q.size());
  const DeviceArray<float> scale(in.scale), qb(in.q_bias), kb(in.k_bias), vb(in.v_bias);
  const DeviceArray<int32_t> at(in.positions);
  DeviceArray<uint16_t> keys(cache), values(cache), keys_after(cache), values_after(cache);
  RopeKvArgs args;
  args.q = q.data(), args.k = k.data(), args.v = v.data();
  if (scaled) args.scale = scale.data();
  if (biased) args.q_bias = qb.data(), args.k_bias = kb.data(), args.v_bias = vb.data();
  args.positions = at.data();
  args.tables = tables.Of();
  args.rows = rows;
  args.heads = s.heads, args.kv_heads = s.kv_heads, args.head_dim = s.head_dim;
  args.q_out = in_place ? q.data() : q_out.data();
  args.keys = keys.data(), args.values = values.data();
  ExpectOk(RopeKv(args, nullptr), "RopeKv");
  const std::vector<float> fused = in_place ? q.Host() : q_out.Host();

  DeviceArray<float> q_step(in.q);
  for (const auto& [x, bias, n] : {std::tuple(&q_step, &qb, q_width), std::tuple(&k, &kb, width),
                                   std::tuple(&v, &vb, width)}) {
    ExpectOk(ScaleBias(x->data(), rows, n, args.scale, biased ? bias->data() : nullptr, nullptr),
             "ScaleBias");
  }
  for (const auto& [x, heads] : {std::tuple(&q_step, s.heads), std::tuple(&k, s.kv_heads)}) {
    ExpectOk(Rope(x->data(), at.data(), args.tables, rows, heads, s.head_dim, x->data(), nullptr),
             "Rope");
  }
  ExpectOk(KvStore(k.data(), v.data(), at.data(), rows, width, keys_after.data(),
                   values_after.data(), nullptr),
           "KvStore");
  const std::string where = std::to_string(rows) + " rows, head " + std::to_string(s.head_dim);
  EXPECT_EQ(FirstUnequal(q_step.Host(), fused), "") << where;
  EXPECT_EQ(FirstUnequal(keys_after.Host(), keys.Host()), "") << where;
  EXPECT_EQ(FirstUnequal(values_after.Host(), values.Host()), "") << where;
}

TEST(RopeKvGpuTest, OneLaunchHasTheBitsOfTheSteps) {
  for (const Shape& shape : kShapes) {
    for (const int64_t rows : kRowCounts) {
      for (const bool scaled : {false, true}) {
        for (const bool biased : {false, true}) {
          ExpectFused(shape, rows, scaled, biased, rows % 2 == 0);
        }
      }
    }
  }
}

TEST(RopeKvGpuTest, RefusesHeadsThatCannotTurn) {
  RopeKvArgs args;
  args.rows = 1, args.heads = 1, args.kv_heads = 1, args.head_dim = 3;
  EXPECT_EQ(RopeKv(args, nullptr), cudaErrorInvalidValue);
  args.head_dim = 4;
  args.tables.pairs = 3;
  EXPECT_EQ(RopeKv(args, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fg::cuda
