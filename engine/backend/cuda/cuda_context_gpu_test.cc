#include "engine/backend/cuda/cuda_context.h"

#include "engine/backend/cuda/device_buffer.h"
#include "engine/backend/cuda/gpu_engine_testing.h"
#include "engine/backend/cuda/pinned_buffer.h"

namespace fg {
namespace {

using testing::TestContext;

constexpr char kInvalid[] = ": invalid argument (cudaErrorInvalidValue)";

cudaError_t Fails() { return cudaErrorInvalidValue; }

uint64_t Launches(const TestContext& test, Phase phase) {
  return test.ledger.counts().launches[static_cast<size_t>(phase)];
}

TEST(CudaContextGpu, CountsLaunchesInTheirPhase) {
  TestContext test;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(test.context->Run(Phase::kDecode, "k", [] { return cudaSuccess; }).ok());
  }
  EXPECT_TRUE(test.context->Run(Phase::kPrefill, "k", [] { return cudaSuccess; }).ok());
  EXPECT_EQ(Launches(test, Phase::kDecode), 3u);
  EXPECT_EQ(Launches(test, Phase::kPrefill), 1u);
  test.context->set_capturing(true);
  EXPECT_TRUE(test.context->Run(Phase::kDecode, "k", [] { return cudaSuccess; }).ok());
  EXPECT_EQ(Launches(test, Phase::kDecode), 3u);
}

TEST(CudaContextGpu, AnErrorBearsTheKernelsNameAndIsFinal) {
  TestContext test;
  const Status failed = test.context->Run(Phase::kDecode, "rope.kv", Fails);
  EXPECT_EQ(failed.kind(), ErrorKind::kDevice);
  EXPECT_EQ(failed.message(), std::string("kernel rope.kv") + kInvalid);
  bool ran = false;
  const Status later = test.context->Run(Phase::kDecode, "swiglu", [&] {
    ran = true;
    return cudaSuccess;
  });
  EXPECT_FALSE(ran);
  EXPECT_EQ(later.message(), failed.message());
  EXPECT_EQ(test.context->Wait("the end").message(), failed.message());
  EXPECT_EQ(test.context->device_error().message(), failed.message());
  EXPECT_EQ(Launches(test, Phase::kDecode), 1u);
}

// An error of a kernel that ran before surfaces at the next call, whoever makes it.
TEST(CudaContextGpu, AnErrorThatMayBeAnothersSaysSo) {
  const auto launch = [] { return cudaErrorIllegalAddress; };
  const std::string text = ": an illegal memory access was encountered (cudaErrorIllegalAddress)";
  TestContext test;
  EXPECT_EQ(
      test.context->Run(Phase::kDecode, "swiglu", launch).message(),
      "swiglu: this kernel or one before it failed, set FG_SYNC_LAUNCH=1 to learn its name" + text);
  TestContext synchronous({"FG_SYNC_LAUNCH=1"});
  EXPECT_TRUE(synchronous.context->sync_launch());
  EXPECT_EQ(synchronous.context->Run(Phase::kDecode, "swiglu", launch).message(),
            "kernel swiglu" + text);
}

TEST(CudaContextGpu, TimesKernelsByName) {
  TestContext test;
  constexpr uint64_t kBytes = uint64_t{64} << 20;
  auto buffer = DeviceBuffer::Allocate(kBytes, MemoryCategory::kScratch, &test.memory, "a", "b");
  ASSERT_TRUE(buffer.ok()) << buffer.status().message();
  const auto fill = [&](uint64_t bytes) {
    return [&, bytes] { return cudaMemsetAsync(buffer->data(), 0, bytes, test.context->stream()); };
  };
  ASSERT_TRUE(test.context->Run(Phase::kDecode, "untimed", fill(kBytes)).ok());
  test.context->TimeKernels(true);
  EXPECT_TRUE(test.context->timing());
  for (int i = 0; i < 2; ++i) {
    // The name is copied: labels come and go.
    const std::string name = std::string("long") + "er";
    ASSERT_TRUE(test.context->Run(Phase::kDecode, name.c_str(), fill(kBytes), {0, 10}).ok());
  }
  ASSERT_TRUE(test.context->Run(Phase::kDecode, "short", fill(256), {5, 1}).ok());
  const std::vector<KernelTime> times = test.context->TakeKernelTimes();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].kernel, "longer");
  EXPECT_EQ(times[0].launches, 2u);
  EXPECT_EQ(times[0].bytes, 20);
  EXPECT_GT(times[0].seconds, 0);
  EXPECT_EQ(times[1].kernel, "short");
  EXPECT_EQ(times[1].operations, 5);
  EXPECT_TRUE(test.context->TakeKernelTimes().empty());
  test.context->TimeKernels(false);
  ASSERT_TRUE(test.context->Run(Phase::kDecode, "untimed", fill(kBytes)).ok());
  EXPECT_TRUE(test.context->TakeKernelTimes().empty());
}

TEST(DeviceBufferGpu, IsBookedWhileItLives) {
  MemoryBook book;
  {
    auto made = DeviceBuffer::Allocate(1000, MemoryCategory::kKv, &book, "the cache", "hint");
    ASSERT_TRUE(made.ok()) << made.status().message();
    DeviceBuffer moved = std::move(made).value();
    EXPECT_EQ(book.entry(MemoryCategory::kKv).now, 1000u);
    EXPECT_EQ(moved.bytes(), 1000u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(moved.data()) % 256, 0u);
  }
  EXPECT_EQ(book.entry(MemoryCategory::kKv).now, 0u);
  EXPECT_EQ(book.entry(MemoryCategory::kKv).peak, 1000u);
  const auto none = DeviceBuffer::Allocate(0, MemoryCategory::kKv, &book, "nothing", "hint");
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->data(), nullptr);
}

TEST(DeviceBufferGpu, WhatDoesNotFitIsNamedAndLeavesTheDeviceUsable) {
  MemoryBook book;
  const auto made = DeviceBuffer::Allocate(uint64_t{1} << 50, MemoryCategory::kKv, &book,
                                           "the KV cache", "set a smaller --context");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().kind(), ErrorKind::kOutOfMemory);
  const std::string& text = made.status().message();
  EXPECT_EQ(text.find("the KV cache: 1073741824 MiB of device memory do not fit, "), 0u) << text;
  EXPECT_TRUE(text.ends_with(" MiB are free; set a smaller --context")) << text;
  EXPECT_EQ(book.entry(MemoryCategory::kKv).now, 0u);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_TRUE(DeviceBuffer::Allocate(256, MemoryCategory::kKv, &book, "a", "b").ok());
}

TEST(PinnedBufferGpu, HoldsWhatTheDeviceCopies) {
  auto host = PinnedBuffer::Allocate(4096, "a buffer");
  ASSERT_TRUE(host.ok()) << host.status().message();
  MemoryBook book;
  auto there = DeviceBuffer::Allocate(4096, MemoryCategory::kScratch, &book, "a", "b");
  ASSERT_TRUE(there.ok());
  for (int i = 0; i < 1024; ++i) host->as<int>()[i] = i * 7;
  ASSERT_EQ(cudaMemcpy(there->data(), host->data(), 4096, cudaMemcpyHostToDevice), cudaSuccess);
  std::memset(host->data(), 0, 4096);
  ASSERT_EQ(cudaMemcpy(host->data(), there->data(), 4096, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(host->as<int>()[i], i * 7);
}

TEST(DeviceInfoGpu, DescribesTheDevice) {
  const DeviceInfo& info = testing::Device().info;
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.driver.empty());
  EXPECT_EQ(info.reported_class, info.hardware_class);
  EXPECT_GT(info.memory_bytes, uint64_t{1} << 30);
  EXPECT_GT(info.multiprocessors, 0);
  const auto unknown = DescribeDevice("sm_x");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.status().kind(), ErrorKind::kUsage);
  const auto lowered = DescribeDevice("other");
  ASSERT_TRUE(lowered.ok());
  EXPECT_EQ(lowered->reported_class, "other");
  EXPECT_EQ(lowered->hardware_class, info.hardware_class);
}

}  // namespace
}  // namespace fg
