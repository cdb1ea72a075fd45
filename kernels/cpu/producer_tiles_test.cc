#include "kernels/cpu/producer_tiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/mmq_tiles_reference.h"
#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows_reference.h"
#include "kernels/cpu/rms_norm_reference.h"
#include "kernels/cpu/swiglu_reference.h"

namespace fg {
namespace {

constexpr float kEps = 1e-6f;
constexpr uint8_t kPoison = 0xA5;

enum class Op { kRmsNorm, kSwiglu };

// Inputs of `rows` rows with outliers, zeros and tiny values, and what the contract makes of them.
struct Problem {
  Problem(Op operation, int64_t total_rows, int64_t width, uint32_t seed)
      : op(operation),
        rows(total_rows),
        n(width),
        first(testing::Gaussian(rows * n, seed, 2)),
        second(testing::Gaussian(op == Op::kRmsNorm ? n : rows * n, seed + 1)),
        y(first.size()) {
    for (int64_t r = 0; r < rows; ++r) {
      float* row = first.data() + r * n;
      row[(7 * r) % n] *= 1000;
      if (r % 3 == 1) std::memset(row, 0, 32 * sizeof(float));
      if (r % 5 == 2) row[(11 * r) % n] *= 1e-38f;
    }
  }

  void Prepare() {
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = first.data() + r * n;
      if (op == Op::kRmsNorm) RmsNormContract(row, second.data(), n, kEps, y.data() + r * n);
    }
    if (op == Op::kSwiglu) {
      for (size_t i = 0; i < y.size(); ++i) y[i] = SwigluContract(first[i], second[i]);
    }
    std::vector<ActivationChunk> chunks(static_cast<size_t>(rows * n / 32));
    QuantizeRowsContract(y.data(), n, rows, n, chunks.data());
    plane.resize(static_cast<size_t>(TileCount(rows) * n / 32));
    TilesFromRows(chunks.data(), rows, n, plane.data());
  }

  void Run(CpuLevel level, Range tiles, float* out, ActivationTile* to,
           KernelFault fault = KernelFault::kNone) const {
    if (op == Op::kRmsNorm) {
      return RmsNormTiles(level, first.data(), second.data(), rows, n, kEps, tiles, out, to, fault);
    }
    SwigluTiles(level, first.data(), second.data(), rows, n, tiles, out, to, fault);
  }

  Op op;
  int64_t rows;
  int64_t n;
  std::vector<float> first, second;  // x and w, or g and u
  std::vector<float> y;
  std::vector<ActivationTile> plane;
};

// Nothing, or where the bytes of tile rows `tiles` differ from the expected ones and the bytes of
// the others from the poison.
std::string PlaneDifference(const Problem& problem, Range tiles,
                            GuardedBuffer<ActivationTile>* got) {
  const int64_t chunks = problem.n / 32;
  std::vector<uint8_t> poison(sizeof(ActivationTile), kPoison);
  for (int64_t i = 0; i < static_cast<int64_t>(problem.plane.size()); ++i) {
    const bool made = i / chunks >= tiles.begin && i / chunks < tiles.end;
    const void* want =
        made ? static_cast<const void*>(&problem.plane[static_cast<size_t>(i)]) : poison.data();
    if (std::memcmp(got->data() + i, want, sizeof(ActivationTile)) != 0) {
      return "tile row " + std::to_string(i / chunks) + " chunk " + std::to_string(i % chunks);
    }
  }
  return got->GuardsIntact() ? "" : "guards";
}

void ExpectContract(const Problem& problem, CpuLevel level, Range tiles, bool with_y) {
  GuardedBuffer<ActivationTile> plane(static_cast<int64_t>(problem.plane.size()));
  GuardedBuffer<float> y(static_cast<int64_t>(problem.y.size()));
  problem.Run(level, tiles, with_y ? y.data() : nullptr, plane.data());
  EXPECT_EQ(PlaneDifference(problem, tiles, &plane), "");
  EXPECT_TRUE(y.GuardsIntact());
  for (int64_t i = 0; i < static_cast<int64_t>(problem.y.size()); ++i) {
    const int64_t tile = i / problem.n / kTileRows;
    if (with_y && tile >= tiles.begin && tile < tiles.end) {
      ASSERT_TRUE(SameFloat(y[i], problem.y[static_cast<size_t>(i)])) << i;
    } else {
      ASSERT_TRUE(y.Untouched(i)) << i;
    }
  }
}

class ProducerTest : public ::testing::TestWithParam<Op> {};

TEST_P(ProducerTest, PlaneAndValuesAreTheContracts) {
  for (const int64_t rows : {1, 2, 15, 16, 17, 33, 64, 65}) {
    for (const int64_t n : {32, 96, 128, 256, 416, 1024}) {
      Problem problem(GetParam(), rows, n, static_cast<uint32_t>(rows * 7 + n));
      problem.Prepare();
      for (const CpuLevel level : SupportedCpuLevels()) {
        SCOPED_TRACE(std::string(CpuLevelName(level)) + " rows " + std::to_string(rows) + " n " +
                     std::to_string(n));
        for (const bool with_y : {false, true}) {
          ExpectContract(problem, level, {0, TileCount(rows)}, with_y);
        }
      }
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(ProducerTest, SomeTilesAlone) {
  Problem problem(GetParam(), 65, 160, 3);
  problem.Prepare();
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const Range tiles : {Range{0, 1}, Range{1, 3}, Range{4, 5}, Range{2, 2}}) {
      for (const bool with_y : {false, true}) ExpectContract(problem, level, tiles, with_y);
    }
  }
}

TEST_P(ProducerTest, ValuesThatAreNotFinite) {
  Problem problem(GetParam(), 19, 256, 9);
  problem.first[3 * 256 + 40] = std::numeric_limits<float>::quiet_NaN();
  problem.first[18 * 256 + 255] = std::numeric_limits<float>::infinity();
  problem.Prepare();
  ASSERT_EQ(std::bit_cast<uint32_t>(problem.plane[1].d[3]), 0x7FC00000u);
  for (const CpuLevel level : SupportedCpuLevels()) {
    for (const bool with_y : {false, true}) ExpectContract(problem, level, {0, 2}, with_y);
  }
}

TEST_P(ProducerTest, Faults) {
  Problem problem(GetParam(), 18, 128, 5);
  problem.Prepare();
  const Range all = {0, 2};
  for (const CpuLevel level : SupportedCpuLevels()) {
    GuardedBuffer<ActivationTile> coarse(8), dirty(8);
    problem.Run(level, all, nullptr, coarse.data(), KernelFault::kCoarseQuant);
    EXPECT_EQ(PlaneDifference(problem, all, &coarse), "tile row 0 chunk 0");
    problem.Run(level, all, nullptr, dirty.data(), KernelFault::kDirtyTail);
    EXPECT_EQ(PlaneDifference(problem, all, &dirty), "tile row 1 chunk 0");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProducerTest, ::testing::Values(Op::kRmsNorm, Op::kSwiglu),
                         [](const auto& info) {
                           return info.param == Op::kRmsNorm ? "rms_norm" : "swiglu";
                         });

}  // namespace
}  // namespace fg
