#include "engine/backend/plugin_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace fg {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

const std::string kFakes = std::string(FG_BINARY_DIR) + "/fake_plugins/";

Result<std::unique_ptr<DevicePlugin>> Open(const std::string& folder,
                                           const DeviceSettings& settings = {}) {
  return OpenDevicePlugin(kCudaPluginFile, {folder}, PluginBuild(), settings);
}

// "kind: message" of what does not open.
std::string Error(const std::string& folder, const DeviceSettings& settings = {}) {
  const auto opened = Open(folder, settings);
  if (opened.ok()) return "no error";
  return std::string(ErrorKindName(opened.status().kind())) + ": " + opened.status().message();
}

TEST(PluginLoader, OpensADeviceAndHandsTheSettingsOn) {
  auto opened = Open(kFakes + "1", {.device_class = "sm_80", .cublaslt_path = "/opt/lt"});
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const DeviceInfo& info = (*opened)->info();
  EXPECT_EQ(info.name, "Fake Device");
  EXPECT_EQ(info.hardware_class, "sm_90");
  EXPECT_EQ(info.reported_class, "sm_80");
  EXPECT_EQ(info.cublaslt, "/opt/lt");
  const Gates gates = Gates::FromEnvironment({}, info.reported_class, nullptr).value();
  Ledger ledger;
  MemoryBook memory;
  const auto operations = (*opened)->NewOperations(gates, &ledger, &memory);
  ASSERT_TRUE(operations.ok());
  const float x = 2;
  float y = 0;
  EXPECT_TRUE((*operations)->Exp(&x, 1, &y).ok());
  EXPECT_EQ(y, 3);
  EXPECT_EQ(ledger.counts().dispatch.size(), 1u);  // this side's ledger
}

TEST(PluginLoader, TakesTheFirstFolderThatHasOne) {
  const auto opened = OpenDevicePlugin(
      kCudaPluginFile, {kFakes + "none", kFakes + "1", kFakes + "2"}, PluginBuild(), {});
  EXPECT_TRUE(opened.ok()) << opened.status().message();
}

TEST(PluginLoader, AMissingObjectIsSaidWithWhatToDo) {
  const auto opened = OpenDevicePlugin(kCudaPluginFile, {"/a/bin", "/a/lib"}, PluginBuild(), {});
  EXPECT_EQ(opened.status().kind(), ErrorKind::kDevice);
  EXPECT_EQ(
      opened.status().message(),
      "this build has no CUDA backend (libfg_cuda.so is not in /a/bin, /a/lib): built without "
      "nvcc; configure with FG_CUDA=ON");
}

TEST(PluginLoader, AnotherBuildIsRefusedWithBothTexts) {
  EXPECT_EQ(Error(kFakes + "2"), "usage: " + kFakes +
                                     "2/libfg_cuda.so: is of another build than this program; it "
                                     "says 'another build', the program '" +
                                     PluginBuild() + "'; build both together");
}

TEST(PluginLoader, WhatTheObjectSaysIsPassedOn) {
  EXPECT_EQ(Error(kFakes + "3"), "device: there is no driver; install one");
  EXPECT_EQ(Error(kFakes + "1", {.device_class = "sm_100", .cublaslt_path = ""}),
            "usage: FG_DEVICE_CLASS='sm_100' is above this device");
}

TEST(PluginLoader, WhatIsNoBackendIsRefused) {
  EXPECT_EQ(Error(kFakes + "4"), "usage: " + kFakes +
                                     "4/libfg_cuda.so: is no backend of a device: fg_device_plugin "
                                     "gives nothing");
  const std::string folder = fg::ProcessTempDir() + "no_object";
  ASSERT_TRUE(MakeFolders(folder).ok());
  ASSERT_TRUE(WriteFileAtomic(folder + "/libfg_cuda.so", "text").ok());
  EXPECT_THAT(Error(folder),
              MatchesRegex("device: " + folder + "/libfg_cuda.so: cannot be loaded: .*too short"));
}

TEST(PluginLoader, FoldersAreTheProgramsAndLibBesideIt) {
  EXPECT_THAT(PluginFolders("/opt/pack/bin/fg-engine"),
              ElementsAre("/opt/pack/bin", "/opt/pack/lib"));
  const auto folders = PluginFoldersOfThisProgram();
  ASSERT_TRUE(folders.ok());
  EXPECT_EQ((*folders)[0], std::filesystem::canonical(std::string(FG_BINARY_DIR) + "/bin"));
}

}  // namespace
}  // namespace fg
