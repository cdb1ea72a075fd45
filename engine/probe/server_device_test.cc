// The probe on a device that is not the CPU, without hardware.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "engine/probe/server.h"
#include "engine/testing/fake_device.h"
#include "engine/testing/tiny_model.h"

namespace fg {
namespace {

class ServerDevice : public ::testing::Test {
 protected:
  ServerDevice()
      : device_(std::make_unique<testing::FakeDevice>()),
        gates_(Gates::FromEnvironment({}, "sm_90", &ledger_).value()),
        server_(device_, gates_, &ledger_,
                [this](const std::string& path, const EngineOptions& options) {
                  return Engine::Load(path, options, device_, gates_, &ledger_);
                }) {}

  Json Ask(Json request) {
    request["id"] = 1;
    return Json::parse(server_.Answer(request.dump()));
  }
  Json Load() {
    static const std::string path = testing::WriteTinyModel({});
    return Ask({{"request", "load"}, {"model", path}});
  }

  Device device_;
  Ledger ledger_;
  Gates gates_;
  ProbeServer server_;
};

TEST_F(ServerDevice, HelloLoadAndMemorySpeakOfIt) {
  EXPECT_EQ(Ask({{"request", "hello"}})["device"]["name"], "Fake Device");
  EXPECT_FALSE(Ask({{"request", "memory"}}).contains("device"));
  const Json load = Load();
  ASSERT_EQ(load["ok"], true) << load;
  const Json device = {{"total", testing::kFakeTotal},
                       {"used", testing::kFakeUsed},
                       {"used_before", testing::kFakeBefore}};
  EXPECT_EQ(load["memory"]["device"], device);
  EXPECT_EQ(Ask({{"request", "memory"}})["device"], device);
  // What the device holds is booked, the file is not.
  EXPECT_EQ(load["memory"]["categories"]["weights"], (Json{{"now", testing::kFakeWeights},
                                                           {"peak", testing::kFakeWeights},
                                                           {"file_backed", false}}));
}

TEST_F(ServerDevice, TheLedgerCountsCapturesAndReplays) {
  ASSERT_EQ(Load()["ok"], true);
  const Json made = Ask({{"request", "generate"}, {"tokens", {5}}, {"max_tokens", 3}});
  EXPECT_EQ(made["tokens"], Json::parse("[6, 7, 8]"));
  EXPECT_EQ(made["digests"].size(), 3u);
  const Json ledger = Ask({{"request", "ledger"}});
  EXPECT_EQ(ledger["captures"], 1);
  EXPECT_EQ(ledger["replays"], 2);
  EXPECT_EQ(ledger["dispatch"][0]["label"], "fake.step");
}

TEST_F(ServerDevice, WithoutDigestsTheDeviceChooses) {
  ASSERT_EQ(Load()["ok"], true);
  const Json made =
      Ask({{"request", "generate"}, {"tokens", {5}}, {"max_tokens", 3}, {"digests", false}});
  EXPECT_EQ(made["tokens"], Json::parse("[6, 7, 8]"));
  EXPECT_EQ(made["digests"], Json::array());
}

TEST_F(ServerDevice, AnErrorNamesItsKernelAndIsFinal) {
  ASSERT_EQ(Load()["ok"], true);
  const Json error = {{"kind", "device"},
                      {"site", "generate"},
                      {"kernel", "fake.step 64x96"},
                      {"message", "layer 3: kernel fake.step 64x96: an illegal address"}};
  EXPECT_EQ(Ask({{"request", "generate"}, {"tokens", {testing::kFatalToken}}})["error"], error);
  EXPECT_EQ(Ask({{"request", "generate"}, {"tokens", {5}}})["error"], error);
  EXPECT_EQ(Ask({{"request", "memory"}})["ok"], true);
}

TEST_F(ServerDevice, OperationsRunThereOrAreRefused) {
  const std::string folder = ProcessTempDir() + "ops";
  ASSERT_TRUE(MakeFolders(folder).ok());
  const float values[] = {1.0f, -2.0f};
  ASSERT_TRUE(
      WriteFileAtomic(folder + "/x.bin", {reinterpret_cast<const char*>(values), sizeof(values)})
          .ok());
  const auto op = [&](const std::string& name, std::vector<int64_t> shape, Json more) {
    const Json x = {{"file", folder + "/x.bin"}, {"dtype", "f32"}, {"shape", std::move(shape)}};
    more.update({{"request", "op"}, {"op", name}, {"out", folder}});
    more["inputs"]["x"] = x;
    return Ask(more);
  };
  const Json exp = op("exp", {2}, Json::object());
  ASSERT_EQ(exp["ok"], true) << exp;
  EXPECT_EQ(exp["labels"][0]["label"], "fake.exp");
  const std::string y = *ReadFile(exp["outputs"]["y"]["file"]);
  EXPECT_EQ(reinterpret_cast<const float*>(y.data())[0], 2.0f);
  const Json w = {{"file", folder + "/x.bin"}, {"dtype", "f32"}, {"shape", {2}}};
  const Json norm = op("rms_norm", {1, 2}, {{"inputs", {{"w", w}}}, {"params", {{"eps", 0}}}});
  EXPECT_EQ(norm["error"]["kind"], "refused");
  EXPECT_EQ(norm["error"]["message"], "this device has no operation 'rms_norm'");
  const Json weight = {{"file", folder + "/x.bin"}, {"dtype", "f32"}, {"shape", {2, 1}}};
  const Json matmul = op("matmul", {1, 2}, {{"inputs", {{"w", weight}}}});
  EXPECT_EQ(matmul["error"]["kind"], "bad_request");
  EXPECT_EQ(matmul["error"]["message"], "op.inputs.w: 'w' holds a value beyond f16");
}

}  // namespace
}  // namespace fg
