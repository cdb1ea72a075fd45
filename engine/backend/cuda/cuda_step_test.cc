#include "engine/backend/cuda/cuda_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace fg {
namespace {

CudaStep Step(std::vector<int> reads, std::vector<int> writes) {
  CudaStep step;
  step.kind = StepKind::kAdd;
  for (size_t i = 0; i < reads.size(); ++i) step.in[i] = {reads[i], 0};
  for (size_t i = 0; i < writes.size(); ++i) step.out[i] = {writes[i], 0};
  return step;
}

std::vector<StepBuffer> BuffersOf(const std::vector<int64_t>& bytes) {
  std::vector<StepBuffer> buffers;
  for (const int64_t each : bytes) buffers.push_back({.bytes = each});
  return buffers;
}

TEST(CudaStep, ListsWhatItReadsAndWrites) {
  CudaStep step = Step({4, 5}, {6});
  step.in_scale = {7, 0};
  step.plane = {8, 0};
  step.residual = {9, 64};
  step.f16 = {10, 0};
  step.f16_scale = {11, 0};
  step.chunks = {12, 0};
  const std::vector<Operand> reads = {{4, 0}, {5, 0}, {7, 0}, {8, 0}, {9, 64}};
  const std::vector<Operand> writes = {{6, 0}, {10, 0}, {11, 0}, {12, 0}};
  EXPECT_EQ(step.Reads(), reads);
  EXPECT_EQ(step.Writes(), writes);
}

TEST(CudaStep, AScaleReadsWhatItWrites) {
  CudaStep step = Step({}, {3});
  EXPECT_TRUE(step.Reads().empty());
  step.kind = StepKind::kScaleBias;
  EXPECT_EQ(step.Reads(), (std::vector<Operand>{{3, 0}}));
}

TEST(PlaceBuffers, SetsLivesFromTheSteps) {
  const std::vector<CudaStep> steps = {Step({}, {0}), Step({0}, {1}), Step({0, 1}, {2})};
  auto buffers = BuffersOf({100, 100, 100});
  PlaceBuffers(steps, &buffers);
  EXPECT_EQ(buffers[0].first, 0);
  EXPECT_EQ(buffers[0].last, 2);
  EXPECT_EQ(buffers[1].first, 1);
  EXPECT_EQ(buffers[1].last, 2);
  EXPECT_EQ(buffers[2].first, 2);
  EXPECT_EQ(buffers[2].last, 2);
}

TEST(PlaceBuffers, AFreedPlaceIsTakenAgain) {
  // 0 is dead when 2 is written; 2 fits into its place.
  const std::vector<CudaStep> steps = {Step({}, {0}), Step({0}, {1}), Step({1}, {2})};
  auto buffers = BuffersOf({1024, 256, 512});
  EXPECT_EQ(PlaceBuffers(steps, &buffers), 1024 + 256);
  EXPECT_EQ(buffers[0].offset, 0);
  EXPECT_EQ(buffers[1].offset, 1024);
  EXPECT_EQ(buffers[2].offset, 0);
}

TEST(PlaceBuffers, WhatNoStepTouchesAndLogitsTakeNoRoom) {
  const std::vector<CudaStep> steps = {Step({}, {0}), Step({0}, {2})};
  auto buffers = BuffersOf({64, 1 << 20, 1 << 20});
  buffers[2].logits = true;
  EXPECT_EQ(PlaceBuffers(steps, &buffers), 256);
  EXPECT_EQ(buffers[1].offset, -1);
  EXPECT_EQ(buffers[2].offset, -1);
  EXPECT_EQ(buffers[2].first, 1);
}

TEST(PlaceBuffers, RandomLivesNeverOverlapAndWasteLittle) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const int count = 60;
    std::vector<CudaStep> steps;
    std::vector<int64_t> sizes;
    for (int i = 0; i < count; ++i) {
      std::vector<int> reads;
      for (int j = 0; j < 2 && i > 0; ++j) {
        reads.push_back(std::max(0, i - 1 - static_cast<int>(random() % 6)));
      }
      steps.push_back(Step(reads, {i}));
      sizes.push_back(1 + static_cast<int64_t>(random() % 5000));
    }
    auto buffers = BuffersOf(sizes);
    const int64_t pool = PlaceBuffers(steps, &buffers);
    int64_t most = 0;
    for (int at = 0; at < count; ++at) {
      int64_t live = 0;
      for (const StepBuffer& a : buffers) {
        if (a.first <= at && at <= a.last) live += (a.bytes + 255) / 256 * 256;
      }
      most = std::max(most, live);
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      const StepBuffer& a = buffers[i];
      ASSERT_EQ(a.offset % kStepBufferAlignment, 0);
      ASSERT_GE(a.offset, 0);
      ASSERT_LE(a.offset + a.bytes, pool);
      for (size_t j = 0; j < i; ++j) {
        const StepBuffer& b = buffers[j];
        const bool together = a.first <= b.last && b.first <= a.last;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        ASSERT_TRUE(!together || apart) << i << " and " << j;
      }
    }
    EXPECT_GE(pool, most);
    EXPECT_LE(pool, most * 3 / 2);
  }
}

}  // namespace
}  // namespace fg
