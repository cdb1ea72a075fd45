#include "engine/backend/backend_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/testing/fake_device.h"

namespace fg {
namespace {

using ::testing::MatchesRegex;

TEST(Device, TheCpuIsThereWithoutAPlugin) {
  const auto chosen = OpenDevice("cpu", {.device_class = "sm_100", .cublaslt_path = ""});
  ASSERT_TRUE(chosen.ok());
  EXPECT_TRUE(chosen->device.is_cpu());
  EXPECT_EQ(chosen->device.info(), nullptr);
  EXPECT_EQ(chosen->device.hardware_class(), "cpu");
  EXPECT_EQ(chosen->said, "");
  const Gates gates = Gates::FromEnvironment({}, "cpu", nullptr).value();
  Ledger ledger;
  MemoryBook memory;
  const auto backend = chosen->device.NewBackend(gates, &ledger, &memory);
  ASSERT_TRUE(backend.ok());
  EXPECT_NE(dynamic_cast<CpuBackend*>(backend->get()), nullptr);
  EXPECT_EQ((*backend)->device_memory(), std::nullopt);
  EXPECT_FALSE((*backend)->TimeKernels(true));
}

TEST(Device, APluginsReportedClassSpeaks) {
  const Device device(std::make_unique<testing::FakeDevice>("sm_80"));
  EXPECT_FALSE(device.is_cpu());
  EXPECT_EQ(device.hardware_class(), "sm_80");
  EXPECT_EQ(device.info()->hardware_class, "sm_90");
  const Gates gates = Gates::FromEnvironment({}, device.hardware_class(), nullptr).value();
  Ledger ledger;
  MemoryBook memory;
  EXPECT_NE(
      dynamic_cast<testing::FakeBackend*>(device.NewBackend(gates, &ledger, &memory).value().get()),
      nullptr);
}

TEST(Device, AnotherWordIsUsage) {
  const auto chosen = OpenDevice("cdua", {});
  EXPECT_EQ(chosen.status().kind(), ErrorKind::kUsage);
  EXPECT_EQ(chosen.status().message(),
            "unknown device 'cdua'; known: cpu, cuda, auto; did you mean 'cuda'?");
}

}  // namespace
}  // namespace fg
