#include "engine/backend/cuda/device_class.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

constexpr ComputeCapability kHopper = {9, 0};

TEST(DeviceClass, IsTheCapabilityWhereTheDefaultsListIt) {
  EXPECT_EQ(ClassOfCapability({8, 0}), "sm_80");
  EXPECT_EQ(ClassOfCapability({8, 6}), "sm_86");
  EXPECT_EQ(ClassOfCapability({8, 9}), "sm_89");
  EXPECT_EQ(ClassOfCapability(kHopper), "sm_90");
  EXPECT_EQ(ClassOfCapability({7, 5}), "other");
  EXPECT_EQ(ClassOfCapability({12, 1}), "other");
}

std::string Reported(ComputeCapability capability, const std::string& asked) {
  const auto reported = ReportedClass(capability, asked);
  if (reported.ok()) return *reported;
  EXPECT_EQ(reported.status().kind(), ErrorKind::kUsage);
  return reported.status().message();
}

TEST(DeviceClass, TheSettingLowersWhatIsReported) {
  EXPECT_EQ(Reported(kHopper, ""), "sm_90");
  EXPECT_EQ(Reported(kHopper, "sm_90"), "sm_90");
  EXPECT_EQ(Reported(kHopper, "sm_89"), "sm_89");
  EXPECT_EQ(Reported(kHopper, "sm_80"), "sm_80");
  EXPECT_EQ(Reported(kHopper, "other"), "other");
  EXPECT_EQ(Reported({12, 1}, ""), "other");
  EXPECT_EQ(Reported({12, 1}, "sm_90"), "sm_90");
}

TEST(DeviceClass, TheSettingNeverRaises) {
  EXPECT_EQ(Reported({8, 6}, "sm_90"),
            "FG_DEVICE_CLASS='sm_90': this device is of capability 8.6; the setting lowers the "
            "reported class, it does not raise it");
  EXPECT_EQ(Reported({7, 5}, "sm_80"),
            "FG_DEVICE_CLASS='sm_80': this device is of capability 7.5; the setting lowers the "
            "reported class, it does not raise it");
}

TEST(DeviceClass, AnotherWordIsRefusedWithTheNearest) {
  const std::string classes = " is no class of a GPU (sm_80, sm_86, sm_89, sm_90, other)";
  EXPECT_EQ(Reported(kHopper, "sm90"),
            "FG_DEVICE_CLASS='sm90'" + classes + "; did you mean 'sm_90'?");
  EXPECT_EQ(Reported(kHopper, "sm_100"),
            "FG_DEVICE_CLASS='sm_100'" + classes + "; did you mean 'sm_80'?");
  EXPECT_EQ(Reported(kHopper, "cpu"), "FG_DEVICE_CLASS='cpu'" + classes);
}

TEST(KernelCode, MachineCodeServesItsOwnCapabilityOrLaterMinorOnes) {
  EXPECT_EQ(KernelCodeFor("90a-real", kHopper), KernelCode::kNative);
  EXPECT_EQ(KernelCodeFor("90a-real", {8, 6}), KernelCode::kNone);
  EXPECT_EQ(KernelCodeFor("90a-real", {9, 1}), KernelCode::kNone);  // the letter binds it
  EXPECT_EQ(KernelCodeFor("80-real", {8, 6}), KernelCode::kNative);
  EXPECT_EQ(KernelCodeFor("86-real", {8, 0}), KernelCode::kNone);
  EXPECT_EQ(KernelCodeFor("80-real", kHopper), KernelCode::kNone);
}

TEST(KernelCode, PtxServesAllLaterOnes) {
  const std::string both = "90a-real 80-virtual";
  EXPECT_EQ(KernelCodeFor(both, kHopper), KernelCode::kNative);
  EXPECT_EQ(KernelCodeFor(both, {8, 0}), KernelCode::kPtx);
  EXPECT_EQ(KernelCodeFor(both, {8, 9}), KernelCode::kPtx);
  EXPECT_EQ(KernelCodeFor(both, {12, 1}), KernelCode::kPtx);
  EXPECT_EQ(KernelCodeFor(both, {7, 5}), KernelCode::kNone);
  EXPECT_EQ(KernelCodeFor("90a-virtual", {10, 0}), KernelCode::kNone);
  // Without a suffix CMake builds both.
  EXPECT_EQ(KernelCodeFor("80", {8, 0}), KernelCode::kNative);
  EXPECT_EQ(KernelCodeFor("80", kHopper), KernelCode::kPtx);
  EXPECT_EQ(KernelCodeFor("", kHopper), KernelCode::kNone);
}

TEST(KernelCode, IsSaidInWords) {
  EXPECT_EQ(ArchitecturesText("90a-real"), "90a");
  EXPECT_EQ(ArchitecturesText("90a-real 80-virtual"), "90a, PTX of 80");
  EXPECT_EQ(ArchitecturesText("80-virtual"), "PTX of 80");
  EXPECT_EQ(ArchitecturesText("80-real 90"), "80, 90, PTX of 90");
}

TEST(NoDevice, SaysWhatIsMissingAndWhatToDo) {
  EXPECT_EQ(NoDeviceText(NoDevice::kNoDriver, 0, 13000, ""),
            "there is no NVIDIA driver here: install one that serves CUDA 13.0, or run with "
            "--device cpu");
  EXPECT_EQ(NoDeviceText(NoDevice::kDriverTooOld, 12040, 13000, ""),
            "the NVIDIA driver serves CUDA 12.4, this build needs CUDA 13.0: install a newer "
            "driver, or run with --device cpu");
  EXPECT_EQ(NoDeviceText(NoDevice::kNone, 13000, 13000, ""),
            "the NVIDIA driver sees no GPU: look at nvidia-smi and at CUDA_VISIBLE_DEVICES, or run "
            "with --device cpu");
  EXPECT_EQ(NoDeviceText(NoDevice::kOther, 13000, 13000, "system not yet initialized (x)"),
            "the GPU cannot be used: system not yet initialized (x): look at nvidia-smi, or run "
            "with --device cpu");
}

TEST(NoDevice, VersionsAreRead) {
  EXPECT_EQ(CudaVersionText(13000), "13.0");
  EXPECT_EQ(CudaVersionText(12080), "12.8");
  EXPECT_EQ(CudaVersionText(0), "0.0");
}

}  // namespace
}  // namespace fg
