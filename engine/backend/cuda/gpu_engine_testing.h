// What the GPU tests of the engine's CUDA backend share.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/backend/cuda/cublaslt.h"
#include "engine/backend/cuda/cuda_context.h"
#include "engine/backend/cuda/device_info.h"
#include "engine/testing/test_engine.h"

namespace fg::testing {

// The device's description, and cuBLASLt where it is found; one of each a process.
struct TestDevice {
  DeviceInfo info;
  std::unique_ptr<CublasLt> cublaslt;
};

inline TestDevice& Device() {
  static TestDevice* device = [] {
    auto* made = new TestDevice;
    auto info = DescribeDevice("");
    if (info.ok()) made->info = *info;
    EXPECT_TRUE(info.ok()) << info.status().message();
    auto cublaslt = CublasLt::Open("");
    EXPECT_TRUE(cublaslt.ok()) << cublaslt.status().message();
    made->cublaslt =
        cublaslt.ok() ? std::move(cublaslt).value() : CublasLt::Absent(cublaslt.status());
    return made;
  }();
  return *device;
}

// A context with what it counts and books into.
struct TestContext {
  explicit TestContext(const std::vector<std::string>& environment = {})
      : gates(GatesOf(environment, &ledger)) {
    auto made = CudaContext::Make(gates, &ledger, &memory, Device().info, Device().cublaslt.get());
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) context = std::move(made).value();
  }

  Ledger ledger;
  MemoryBook memory;
  Gates gates;
  std::unique_ptr<CudaContext> context;
};

// Seeded, in [-1, 1).
inline std::vector<float> RandomValues(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
  }
  return values;
}

}  // namespace fg::testing
