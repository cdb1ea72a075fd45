#include "engine/backend/cpu/weight_registration.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/backend/cpu/cpu_ops_testing.h"
#include "kernels/cpu/weight_planes.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of cpu_ops_testing.h

const Environment kPlanes = {"FG_MMQ=1",        "FG_MMQ_RAW=1",     "FG_MMQ_RAW_NB=1",
                             "FG_MMQ_Q6K_NB=1", "FG_MMQ_Q6K_EXP=1", "FG_MMQ_A_TRANSPOSE=1",
                             "FG_MMQ_Q4K_DSC=1"};

Environment With(Environment environment, const char* more) {
  environment.push_back(more);
  return environment;
}

uint64_t Booked(const Fixture& fixture, MemoryCategory category) {
  return fixture.memory.entry(category).now;
}

TEST(WeightRegistration, BuildsThePlaneThatThePathReads) {
  const int64_t k = 512, out = 37;
  const Weight q4(TensorType::kQ4_K, k, out, 1), q6(TensorType::kQ6_K, k, out, 2);
  for (const char* threads : {"FG_THREADS=1", "FG_THREADS=3"}) {
    Fixture fixture(With(kPlanes, threads));
    WeightRegistrar registrar(&fixture.context);
    const auto scales = registrar.Register(q4.view, 16), expanded = registrar.Register(q6.view, 16);
    ASSERT_TRUE(scales.ok() && expanded.ok());
    EXPECT_EQ(scales->wide_path, MatmulPath::kMmqTiles);
    std::vector<ScalePair> want_q4(k / 32 * out);
    std::vector<ExpandedChunkQ6_K> want_q6(k / 32 * out);
    BuildScalePlane(q4.view.data, k, out, {0, out}, want_q4.data());
    BuildExpandedPlane(q6.view.data, k, {0, out}, want_q6.data());
    ASSERT_NE(scales->weight.scales, nullptr);
    ASSERT_NE(expanded->weight.expanded, nullptr);
    EXPECT_EQ(std::memcmp(scales->weight.scales, want_q4.data(), want_q4.size() * 8), 0);
    EXPECT_EQ(std::memcmp(expanded->weight.expanded, want_q6.data(), want_q6.size() * 40), 0);
    EXPECT_EQ(scales->weight.f16, nullptr);
    // To the byte, not to the page.
    EXPECT_EQ(Booked(fixture, MemoryCategory::kPlanes),
              ScalePlaneBytes(k, out) + ExpandedPlaneBytes(k, out));
    const std::vector<PlaneCount> planes = {
        {"scales", "q4_K", "FG_MMQ_Q4K_DSC", 1, ScalePlaneBytes(k, out)},
        {"expanded", "q6_K", "FG_MMQ_Q6K_EXP", 1, ExpandedPlaneBytes(k, out)}};
    EXPECT_EQ(registrar.planes(), planes);
  }
}

TEST(WeightRegistration, BuildsNothingThatNoPathReads) {
  const Weight q4(TensorType::kQ4_K, 256, 8, 1), q6(TensorType::kQ6_K, 256, 8, 2),
      q4_0(TensorType::kQ4_0, 256, 8, 3), f16(TensorType::kF16, 256, 8, 4);
  const auto booked = [&](const Environment& environment, const Weight& weight, int64_t rows,
                          MemoryCategory category) {
    Fixture fixture(environment);
    WeightRegistrar registrar(&fixture.context);
    const auto registered = registrar.Register(weight.view, rows);
    EXPECT_TRUE(registered.ok());
    return Booked(fixture, category);
  };
  const MemoryCategory planes = MemoryCategory::kPlanes, cache = MemoryCategory::kF16Cache;
  EXPECT_GT(booked(kPlanes, q4, 16, planes), 0u);
  EXPECT_EQ(booked(kPlanes, q4, 15, planes), 0u);  // one-row kernels
  EXPECT_EQ(booked(kPlanes, q4_0, 16, planes), 0u);
  EXPECT_EQ(booked(kPlanes, f16, 16, planes), 0u);
  EXPECT_EQ(booked(With(kPlanes, "FG_PREFILL_GEMM=0"), q4, 16, planes), 0u);
  Environment no_mmq = kPlanes;
  no_mmq[0] = "FG_MMQ=0";
  EXPECT_EQ(booked(no_mmq, q4, 16, planes), 0u);
  EXPECT_GT(booked(no_mmq, q4, 16, cache), 0u);
  Environment no_q6 = kPlanes;
  no_q6[3] = "FG_MMQ_Q6K_NB=0";
  EXPECT_EQ(booked(no_q6, q6, 16, planes), 0u);
  EXPECT_GT(booked(no_q6, q6, 16, cache), 0u);
  EXPECT_EQ(booked(no_q6, q4, 16, cache), 0u);
  EXPECT_EQ(booked(kPlanes, q6, 16, cache), 0u);
}

TEST(WeightRegistration, TheLimitHoldsForAllPlanesTogether) {
  // 0.75 MiB of pairs each: the second goes beyond 1 MiB.
  const int64_t k = 256, out = 12288;
  ASSERT_EQ(ScalePlaneBytes(k, out), 768u << 10);
  const Weight weight(TensorType::kQ4_K, k, out, 1), small(TensorType::kQ6_K, k, 16, 2);
  Fixture fixture(With(kPlanes, "FG_PLANE_LIMIT_MIB=1"));
  WeightRegistrar registrar(&fixture.context);
  const auto first = registrar.Register(weight.view, 16),
             second = registrar.Register(weight.view, 16),
             third = registrar.Register(small.view, 16);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_NE(first->weight.scales, nullptr);
  EXPECT_EQ(second->weight.scales, nullptr);
  EXPECT_NE(third->weight.expanded, nullptr);  // it still fits
  EXPECT_EQ(registrar.planes().size(), 2u);
  EXPECT_EQ(registrar.planes()[0].weights, 1);
  const std::vector<Degradation> degraded = {{"FG_MMQ_Q4K_DSC=1", "FG_MMQ_Q4K_DSC=0", "memory"}};
  EXPECT_EQ(fixture.ledger.counts().degradations, degraded);
}

TEST(WeightRegistration, PlantedFaultsMoveThePlane) {
  const Weight q4(TensorType::kQ4_K, 256, 16, 1), q6(TensorType::kQ6_K, 256, 16, 2);
  const auto bytes = [](const Weight& weight, const char* fault) {
    Environment environment = kPlanes;
    if (*fault != '\0') environment.push_back(std::string("FG_FAULT=") + fault);
    Fixture fixture(environment);
    WeightRegistrar registrar(&fixture.context);
    const auto registered = registrar.Register(weight.view, 16);
    EXPECT_TRUE(registered.ok());
    return std::string(static_cast<const char*>(registered->plane.data()), 256 / 32 * 16 * 8);
  };
  EXPECT_NE(bytes(q4, "scales_rounded"), bytes(q4, ""));
  EXPECT_EQ(bytes(q4, "q6k_scales_swapped"), bytes(q4, ""));
  EXPECT_NE(bytes(q6, "q6k_scales_swapped"), bytes(q6, ""));
  EXPECT_EQ(bytes(q6, "scales_rounded"), bytes(q6, ""));
}

}  // namespace
}  // namespace fg
