#include "kernels/cuda/swiglu.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/swiglu_reference.h"
#include "kernels/cuda/activations.h"
#include "kernels/cuda/activations_testing.h"
#include "kernels/cuda/gpu_testing.h"

namespace fg::cuda {
namespace {

using ::fg::testing::FirstUnequal;
using ::fg::testing::kRowCounts;
using ::fg::testing::RowsWithAll;

std::vector<float> Contract(const std::vector<float>& g, const std::vector<float>& u, int64_t n,
                            const std::vector<float>* scale) {
  std::vector<float> y;
  for (size_t i = 0; i < g.size(); ++i) {
    const float s = scale == nullptr ? 1.0f : (*scale)[i / static_cast<size_t>(n)];
    y.push_back(SwigluContract(g[i] * s, u[i] * s));
  }
  return y;
}

void ExpectValues(const std::vector<float>& g, const std::vector<float>& u, const char* what) {
  const int64_t n = static_cast<int64_t>(g.size());
  const DeviceArray<float> g_in(g), u_in(u);
  DeviceArray<float> y(g.size());
  SwigluArgs args;
  args.g = g_in.data();
  args.u = u_in.data();
  args.rows = 1;
  args.n = n;
  args.y = y.data();
  ExpectOk(Swiglu(args, nullptr), "Swiglu");
  EXPECT_EQ(FirstDifference(Contract(g, u, n, nullptr), y.Host()), "") << what;
}

// Over all bit patterns of g, in steps of a prime: among four neighbours all sizes, so that the
// long way of the division runs; then, four at a time from one neighbourhood, the short way.
TEST(SwigluGpuTest, ContractBitsOverAllSizes) {
  std::vector<float> g, u;
  SeededValues values(1);
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 2039) {
    g.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    u.push_back(values.Uniform(4.0f));
  }
  while (g.size() % 4 != 0) g.pop_back(), u.pop_back();
  ExpectValues(g, u, "all sizes in order");
  std::vector<float> mixed(g.size());
  for (size_t i = 0; i < g.size(); ++i) mixed[i] = g[i * 1000003 % g.size()];
  ExpectValues(mixed, u, "all sizes mixed");
}

// Where activations lie, where the short way of the division ends (86, 2^-60), where exp does
// (87.3 and 88.7), and where the denominator is all ones or next to a power of two.
TEST(SwigluGpuTest, ContractBitsWhereActivationsLie) {
  std::vector<float> g, u;
  SeededValues values(2);
  for (int i = 0; i < 4000000; ++i) {
    const float limit = i % 3 == 0 ? 1.0f : i % 3 == 1 ? 12.0f : 90.0f;
    g.push_back(values.Uniform(limit));
    u.push_back(values.Uniform(limit));
  }
  ExpectValues(g, u, "noise");
  g.clear(), u.clear();
  for (const float edge : {0x1p-24f, 0x1p-23f, 0x1p-22f, 0x1p-12f, 1.0f, 17.0f, 86.0f, 0x1p-60f,
                           0x1.5d589ep+6f, 0x1.62e42ep+6f, 89.0f, 127.0f}) {
    for (const float sign : {1.0f, -1.0f}) {
      for (int i = -20000; i < 20000; ++i) {
        g.push_back(sign *
                    std::bit_cast<float>(std::bit_cast<uint32_t>(edge) + static_cast<uint32_t>(i)));
        u.push_back(1.0f);
      }
    }
  }
  ExpectValues(g, u, "edges");
}

struct Inputs {
  int64_t rows, n;
  std::vector<float> g, u, scale;

  Inputs(int64_t rows_, int64_t n_) : rows(rows_), n(n_) {
    g = RowsWithAll(rows, n, static_cast<uint32_t>(rows * 5 + n));
    u = testing::Gaussian(rows * n, static_cast<uint32_t>(rows + 2 * n), 40);
    for (int64_t r = 0; r < rows; ++r) scale.push_back(std::ldexp(1.0f, static_cast<int>(r % 4)));
  }
};

// y, f16 and chunks: each alone and all together, against one step after the other.
void ExpectForms(int64_t rows, int64_t n, bool scaled, size_t shift) {
  const Inputs in(rows, n);
  const std::string where = std::to_string(rows) + " rows of " + std::to_string(n);
  const size_t count = in.g.size(), row_count = static_cast<size_t>(rows);
  std::vector<float> shifted(shift, 0.0f);
  shifted.insert(shifted.end(), in.g.begin(), in.g.end());
  const DeviceArray<float> g(shifted), u(in.u), scale(in.scale);
  DeviceArray<float> y(count), y_too(count), f16_scale(row_count), scale_too(row_count),
      scale_after(row_count);
  DeviceArray<uint16_t> f16(count), f16_too(count), f16_after(count);
  const size_t chunk_count = n % 32 == 0 ? count / 32 : 0;
  DeviceArray<ActivationChunk> chunks(chunk_count), chunks_too(chunk_count), after(chunk_count);
  SwigluArgs args;
  args.g = g.data() + shift;
  args.u = u.data();
  args.scale = scaled ? scale.data() : nullptr;
  args.rows = rows;
  args.n = n;
  SwigluArgs alone = args;
  alone.y = y.data();
  ExpectOk(Swiglu(alone, nullptr), "y");
  alone = args;
  alone.f16 = f16.data();
  alone.f16_scale = f16_scale.data();
  ExpectOk(Swiglu(alone, nullptr), "f16");
  args.y = y_too.data();
  args.f16 = f16_too.data();
  args.f16_scale = scale_too.data();
  if (chunk_count > 0) {
    alone =
        SwigluArgs{args.g, args.u, args.scale, rows, n, nullptr, nullptr, nullptr, chunks.data()};
    ExpectOk(Swiglu(alone, nullptr), "chunks");
    args.chunks = chunks_too.data();
    ExpectOk(QuantizeRows(y.data(), rows, n, after.data(), nullptr), "chunks after");
  }
  ExpectOk(Swiglu(args, nullptr), "all");
  ExpectOk(RowsToF16(y.data(), rows, n, f16_after.data(), scale_after.data(), nullptr),
           "f16 after");

  EXPECT_EQ(FirstDifference(Contract(in.g, in.u, n, scaled ? &in.scale : nullptr), y.Host()), "")
      << where;
  EXPECT_EQ(FirstUnequal(y.Host(), y_too.Host()), "") << where;
  EXPECT_EQ(FirstUnequal(f16_after.Host(), f16.Host()), "") << where;
  EXPECT_EQ(FirstUnequal(f16_after.Host(), f16_too.Host()), "") << where;
  EXPECT_EQ(FirstUnequal(scale_after.Host(), f16_scale.Host()), "") << where;
  EXPECT_EQ(FirstUnequal(scale_after.Host(), scale_too.Host()), "") << where;
  if (chunk_count == 0) return;
  EXPECT_EQ(FirstUnequal(after.Host(), chunks.Host()), "") << where;
  EXPECT_EQ(FirstUnequal(after.Host(), chunks_too.Host()), "") << where;
}

TEST(SwigluGpuTest, FusedFormsHaveTheBitsOfTheSteps) {
  for (const int64_t n : {1, 32, 64, 256, 320, 333, 896, 3584, 18944}) {
    for (const int64_t rows : kRowCounts) {
      if (rows > 17 && n > 3584) continue;
      ExpectForms(rows, n, rows % 2 == 0, 0);
      if (n <= 896) ExpectForms(rows, n, rows % 2 == 1, 1);
    }
  }
  for (const int64_t n : {24576, 24608}) ExpectForms(8, n, true, 0);  // held, and no longer held
}

TEST(SwigluGpuTest, RefusesWhatItCannotWrite) {
  SwigluArgs args;
  args.rows = 1;
  args.n = 33;
  args.chunks = reinterpret_cast<ActivationChunk*>(256);
  EXPECT_EQ(Swiglu(args, nullptr), cudaErrorInvalidValue);
  args.chunks = nullptr;
  args.f16 = reinterpret_cast<uint16_t*>(256);
  EXPECT_EQ(Swiglu(args, nullptr), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fg::cuda
