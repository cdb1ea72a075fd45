// An engine on a device that is not the CPU, without hardware.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/session/engine.h"
#include "engine/session/engine_testing.h"
#include "engine/session/generate.h"
#include "engine/testing/fake_device.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of engine_testing.h

struct OnDevice {
  Device device{std::make_unique<FakeDevice>()};
  Ledger ledger;
  Gates gates = GatesOf({}, &ledger);

  Result<std::unique_ptr<Engine>> Load(const std::string& path, const EngineOptions& options = {}) {
    return Engine::Load(path, options, device, gates, &ledger);
  }
};

TEST(EngineDevice, RunsWhatThePluginMade) {
  OnDevice on;
  const auto engine = on.Load(NarrowModel());
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ((*engine)->summary().sha256.size(), 64u);  // of the file, which is let go after it
  EXPECT_EQ((*engine)->device_memory()->used, kFakeUsed);
  const auto& weights = (*engine)->memory().entry(MemoryCategory::kWeights);
  EXPECT_EQ(weights.now, kFakeWeights);
  EXPECT_FALSE(weights.file_backed);
  Conversation conversation{(*engine)->NewSession().value(), {}};
  const std::vector<int32_t> prompt = {1, 2, 40};
  const auto made = Generate(**engine, conversation, prompt, {.max_tokens = 3}, nullptr);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->tokens, (std::vector<int32_t>{41, 42, 43}));
  EXPECT_EQ(on.ledger.counts().replays, 2u);
}

TEST(EngineDevice, TheCpuHasNoDevicesFigures) {
  TestEngine test(NarrowModel(), {});
  EXPECT_EQ(test.engine->device_memory(), std::nullopt);
  EXPECT_FALSE(test.engine->TimeKernels(true));
  EXPECT_TRUE(test.engine->TakeKernelTimes().empty());
}

// The device's memory counts, however much the machine has.
TEST(EngineDevice, AContextBeyondTheDeviceIsRefused) {
  TinyModelSpec spec;
  spec.context = 1 << 22;  // 2 x 2 layers x 32 values of f16, and 16 rotated f32, a position
  const std::string path = WriteTinyModel(spec);
  OnDevice on;
  const auto engine = on.Load(path);
  EXPECT_EQ(engine.status().kind(), ErrorKind::kOutOfMemory);
  EXPECT_EQ(engine.status().message(),
            path +
                ": a context of 4194304 positions takes 320 bytes a position, more than this "
                "device's 1000 MiB; load with a smaller context");
  EXPECT_TRUE(on.Load(path, {.context = 96}).ok());
}

}  // namespace
}  // namespace fg
