// Every path of a matmul against float64, at every boundary of the dispatch, over threads, with
// sentinels round the output. The kernels' own bits are tested beside them.
#include <gtest/gtest.h>

#include "engine/backend/cpu/cpu_ops.h"
#include "engine/backend/cpu/cpu_ops_testing.h"
#include "engine/backend/cpu/weight_registration.h"
#include "kernels/formats/dequantize.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of cpu_ops_testing.h

std::vector<double> ExactMatmul(const Weight& weight, const std::vector<float>& x, int64_t rows,
                                const std::vector<float>& bias) {
  const int64_t k = weight.view.k, out = weight.view.out;
  std::vector<double> y(rows * out), row_values(k);
  for (int64_t o = 0; o < out; ++o) {
    EXPECT_TRUE(DequantizeRowExact(weight.view.type,
                                   weight.data.data() + o * RowBytes(weight.view.type, k), k,
                                   row_values.data()));
    for (int64_t row = 0; row < rows; ++row) {
      double sum = bias.empty() ? 0 : bias[o];
      for (int64_t i = 0; i < k; ++i) sum += row_values[i] * x[row * k + i];
      y[row * out + o] = sum;
    }
  }
  return y;
}

const std::vector<Environment> kPaths = {
    {},
    {"FG_MMQ=1"},
    {"FG_MMQ=1", "FG_MMQ_RAW=1"},
    {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1"},
    {"FG_PREFILL_GEMM=0"},
    // q6_K on its kernels: generic, nibble, tiles, planes.
    {"FG_MMQ=1", "FG_MMQ_Q6K_NB=1"},
    {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1", "FG_MMQ_Q6K_NB=1", "FG_MMQ_Q6K_EXP=1"},
    {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1", "FG_MMQ_Q6K_NB=1", "FG_MMQ_A_TRANSPOSE=1"},
    {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1", "FG_MMQ_Q6K_NB=1", "FG_MMQ_A_TRANSPOSE=1",
     "FG_MMQ_Q6K_EXP=1", "FG_MMQ_Q4K_DSC=1"}};

TEST(RunMatmul, EveryPathIsRightAtEveryBoundary) {
  for (const TensorType type :
       {TensorType::kF32, TensorType::kF16, TensorType::kBF16, TensorType::kQ4_0, TensorType::kQ5_0,
        TensorType::kQ8_0, TensorType::kQ4_K, TensorType::kQ6_K}) {
    const double tolerance = InfoOf(type).quantized ? 0.05 : 4e-3;  // int8 or f16 activations
    for (const int64_t out : {1, 2, 3, 65}) {
      const Weight weight(type, 256, out, 1);
      const std::vector<float> bias = RandomValues(out, 2);
      for (const int64_t rows : {1, 2, 15, 16, 17, 33}) {
        const std::vector<float> x = RandomValues(rows * 256, 3);
        const std::vector<double> want = ExactMatmul(weight, x, rows, bias);
        for (const Environment& environment : kPaths) {
          Fixture fixture(environment);
          Guarded y(rows * out);
          const Status status = RunMatmulAlone(fixture.context, weight.view, x.data(), rows,
                                               bias.data(), y.data(), PhaseOfRows(rows));
          ASSERT_TRUE(status.ok()) << status.message();
          EXPECT_LT(Error(y.Take(), want), tolerance)
              << InfoOf(type).name << " out " << out << " rows " << rows;
        }
      }
    }
  }
}

TEST(RunMatmul, ThreadsMoveNoBit) {
  const int64_t out = 700, rows = 40;
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kQ4_0,
                                TensorType::kQ4_K, TensorType::kQ6_K}) {
    const Weight weight(type, 512, out, 1);
    const std::vector<float> x = RandomValues(rows * 512, 3);
    for (const Environment& path : kPaths) {
      std::vector<float> first;
      for (const char* threads : {"FG_THREADS=1", "FG_THREADS=2", "FG_THREADS=3"}) {
        Environment environment = path;
        environment.push_back(threads);
        Fixture fixture(environment);
        Guarded y(rows * out);
        ASSERT_TRUE(RunMatmulAlone(fixture.context, weight.view, x.data(), rows, nullptr, y.data(),
                                   Phase::kPrefill)
                        .ok());
        const std::vector<float> got = y.Take();
        if (first.empty()) first = got;
        EXPECT_TRUE(SameBits(got, first)) << InfoOf(type).name << threads;
      }
    }
  }
}

TEST(RunMatmul, NeighboursShareThePlaneAndItsContentsAreTheSources) {
  const Weight q(TensorType::kQ4_K, 256, 64, 1), k(TensorType::kQ4_K, 256, 32, 2);
  std::vector<float> x = RandomValues(20 * 256, 3);
  Fixture fixture({"FG_MMQ=1"});
  const auto run = [&](const Weight& weight) {
    Guarded y(20 * weight.view.out);
    EXPECT_TRUE(
        RunMatmul(fixture.context, {weight.view}, x.data(), 20, nullptr, y.data(), Phase::kPrefill)
            .ok());
    return y.Take();
  };
  const std::vector<float> first = run(q);
  EXPECT_EQ(fixture.Launches(Phase::kPrefill), 2u);  // the plane and the product
  run(k);
  EXPECT_EQ(fixture.Launches(Phase::kPrefill), 3u);
  // New values at the same place: whoever wrote them clears the planes.
  x = RandomValues(20 * 256, 4);
  fixture.context.planes().Clear();
  EXPECT_FALSE(SameBits(run(q), first));
  EXPECT_EQ(fixture.Launches(Phase::kPrefill), 5u);
  EXPECT_EQ(fixture.Dispatched(Phase::kPrefill, "matmul", "mmq.q4_K.generic"), 3u);
}

TEST(RunMatmul, AHitForAnotherNodeAndADeadBufferAreRefusedOnEveryPath) {
  const std::vector<float> x = RandomValues(20 * 256, 3);
  const float* other = x.data();
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kQ4_0,
                                TensorType::kQ4_K, TensorType::kQ6_K}) {
    const Weight weight(type, 256, 8, 1);
    for (const Environment& environment : kPaths) {
      for (const int64_t rows : {1, 20}) {
        Fixture fixture(environment);
        WeightRegistrar registrar(&fixture.context);
        const auto registered = registrar.Register(weight.view, rows);
        ASSERT_TRUE(registered.ok());
        ActivationPlanes& planes = fixture.context.planes();
        Guarded y(rows * 8);
        const auto run = [&](int node) {
          return RunMatmul(fixture.context, registered->weight, other, rows, nullptr, y.data(),
                           PhaseOfRows(rows), node);
        };
        ASSERT_TRUE(run(1).ok());
        ASSERT_TRUE(run(1).ok());
        // Float rows are read as they are: there is no plane to be stale.
        const bool plane = InfoOf(type).quantized ||
                           (type == TensorType::kF16 && rows == 20 && environment != kPaths[4]);
        EXPECT_EQ(run(2).kind(), plane ? ErrorKind::kRefused : ErrorKind::kOk);
        planes.Clear();
        ASSERT_TRUE(planes.Reserve(PlaneLayout::kTiles, 20, 512).ok());
        planes.Record(PlaneLayout::kTiles, {other, rows, 512, 1}, true);  // another shape
        Guarded untouched(rows * 8);
        const Status dead = RunMatmul(fixture.context, registered->weight, other, rows, nullptr,
                                      untouched.data(), PhaseOfRows(rows), 1);
        EXPECT_EQ(dead.message(),
                  "the output of node 1 is asked for, which FG_MMQ_A_FUSE=2 left unwritten: a "
                  "dead write");
        EXPECT_TRUE(std::isnan(untouched.Take()[0]));
      }
    }
  }
}

TEST(RunMatmul, RefusesWhatItCannotRun) {
  Fixture fixture({});
  const Weight weight(TensorType::kQ4_K, 256, 3, 1);
  const std::vector<float> x(16 * 256);
  Guarded y(16 * 3);
  const Status status =
      RunMatmul(fixture.context, {weight.view}, x.data(), 16, nullptr, y.data(), Phase::kPrefill);
  EXPECT_EQ(status.kind(), ErrorKind::kInternal);
  EXPECT_EQ(status.message(), "weight 'w' has no f16 cache");
  const auto message = [&](TensorType type, int64_t k, int64_t out) {
    const WeightView view = {"w", type, weight.data.data(), k, out};
    const Status refused =
        RunMatmulAlone(fixture.context, view, x.data(), 16, nullptr, y.data(), Phase::kPrefill);
    EXPECT_EQ(refused.kind(), ErrorKind::kBadModel);
    return refused.message();
  };
  EXPECT_EQ(message(TensorType::kQ5_K, 256, 3), "weight 'w': no kernels for type q5_K");
  EXPECT_EQ(message(TensorType::kQ4_K, 288, 3),
            "weight 'w': q4_K rows are multiples of 256 values, found 288");
  EXPECT_EQ(message(TensorType::kQ4_0, 40, 3),
            "weight 'w': q4_0 rows are multiples of 32 values, found 40");
  EXPECT_EQ(message(TensorType::kF32, 0, 3),
            "weight 'w': a weight needs at least one row and one value");
  EXPECT_EQ(message(TensorType::kF32, 4, 0),
            "weight 'w': a weight needs at least one row and one value");
  EXPECT_TRUE(std::isnan(y.Take()[0]));
}

TEST(RunMatmul, ATemporaryCacheIsBookedAndGivenBack) {
  Fixture fixture({});
  const Weight weight(TensorType::kQ6_K, 256, 16, 1);
  const std::vector<float> x(16 * 256);
  Guarded y(16 * 16);
  ASSERT_TRUE(
      RunMatmulAlone(fixture.context, weight.view, x.data(), 16, nullptr, y.data(), Phase::kPrefill)
          .ok());
  EXPECT_EQ(fixture.memory.entry(MemoryCategory::kF16Cache).peak, 16u * 256 * 2);
  EXPECT_EQ(fixture.memory.entry(MemoryCategory::kF16Cache).now, 0u);
}

TEST(RunMatmul, PlantedFaultsMoveTheNumbersOfTheirPath) {
  const Weight weight(TensorType::kQ4_K, 512, 64, 1);
  const std::vector<float> x = RandomValues(20 * 512, 3);
  const auto run = [&](Environment environment, const char* fault, int64_t rows) {
    if (*fault != '\0') environment.push_back(std::string("FG_FAULT=") + fault);
    Fixture fixture(environment);
    Guarded y(rows * 64);
    EXPECT_TRUE(RunMatmulAlone(fixture.context, weight.view, x.data(), rows, nullptr, y.data(),
                               PhaseOfRows(rows))
                    .ok());
    return y.Take();
  };
  const Environment raw = kPaths[2], nibble = kPaths[3];
  for (const char* fault : {"nibbles_swapped", "min_dropped"}) {
    EXPECT_FALSE(SameBits(run(nibble, fault, 20), run(nibble, "", 20))) << fault;
    EXPECT_TRUE(SameBits(run(raw, fault, 20), run(raw, "", 20))) << fault;
    EXPECT_TRUE(SameBits(run(nibble, fault, 1), run(nibble, "", 1))) << fault;
  }
  EXPECT_FALSE(SameBits(run(raw, "raw_tail_skipped", 20), run(raw, "", 20)));
  EXPECT_TRUE(SameBits(run(nibble, "raw_tail_skipped", 20), run(nibble, "", 20)));
  for (const int64_t rows : {1, 20}) {
    EXPECT_FALSE(SameBits(run(raw, "coarse_activations", rows), run(raw, "", rows)));
  }
  const Environment tiles = kPaths[7], planes = kPaths[8];
  for (const char* fault : {"nibbles_swapped", "min_dropped", "chunk_off_plane"}) {
    EXPECT_FALSE(SameBits(run(tiles, fault, 20), run(tiles, "", 20))) << fault;
    EXPECT_FALSE(SameBits(run(planes, fault, 20), run(planes, "", 20))) << fault;
  }
  EXPECT_TRUE(SameBits(run(nibble, "chunk_off_plane", 20), run(nibble, "", 20)));
  EXPECT_FALSE(SameBits(run(planes, "scales_rounded", 20), run(planes, "", 20)));
  EXPECT_TRUE(SameBits(run(tiles, "scales_rounded", 20), run(tiles, "", 20)));
}

TEST(RunMatmul, PlantedFaultsOfQ6KMoveItsNibblePaths) {
  const Weight weight(TensorType::kQ6_K, 512, 64, 1);
  const std::vector<float> x = RandomValues(20 * 512, 3);
  const auto run = [&](Environment environment, const char* fault) {
    if (*fault != '\0') environment.push_back(std::string("FG_FAULT=") + fault);
    Fixture fixture(environment);
    Guarded y(20 * 64);
    EXPECT_TRUE(RunMatmulAlone(fixture.context, weight.view, x.data(), 20, nullptr, y.data(),
                               Phase::kPrefill)
                    .ok());
    return y.Take();
  };
  const std::vector<float> right = run(kPaths[5], "");
  for (size_t path = 5; path < kPaths.size(); ++path) {
    EXPECT_TRUE(SameBits(run(kPaths[path], ""), right)) << path;
    for (const char* fault : {"q6k_scales_swapped", "q6k_coarse"}) {
      const bool nibble = path > 5;
      EXPECT_EQ(SameBits(run(kPaths[path], fault), right), !nibble) << path << fault;
    }
  }
}

}  // namespace
}  // namespace fg
