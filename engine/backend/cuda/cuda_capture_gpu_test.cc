// Captured steps: the bits and the ledger of eager ones, and what makes them go.
#include "engine/backend/cuda/cuda_capture.h"

#include "engine/backend/cuda/cuda_backend_testing.h"
#include "kernels/cuda/attention.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of the tests' headers

struct Stream {
  std::vector<int32_t> tokens;
  std::vector<float> logits;  // of every step
  Ledger::Counts counts;
};

// Feeds `prompt`, then `count` greedy tokens one a forward, from `position` on.
void Greedy(CudaModel& model, KvCache* kv, std::vector<int32_t> prompt, int64_t position, int count,
            Stream* stream) {
  for (int step = 0; step < count; ++step) {
    CudaModel::Output output;
    const Status ran =
        model.Run(kv, prompt, position, {.wanted = 1, .logits = true, .ids = true}, &output);
    ASSERT_TRUE(ran.ok()) << ran.message();
    ASSERT_EQ(output.ids[0], HighestId(output.logits));
    position += static_cast<int64_t>(prompt.size());
    prompt = {output.ids[0]};
    stream->tokens.push_back(output.ids[0]);
    stream->logits.insert(stream->logits.end(), output.logits.begin(), output.logits.end());
  }
}

constexpr CudaModelOptions kLong = {.context = 1024, .batch = 48, .poison = false};

// 700 tokens, back to position 20, 60 more.
Stream LongStream(const Environment& environment, const CudaModelOptions& options = kLong) {
  TinyModelSpec spec = MixedSpec();
  spec.context = 1024;
  CudaModel model(spec, environment, options);
  EXPECT_TRUE(model.status.ok()) << model.status.message();
  model.ledger.Take();
  const auto kv = model.NewKv();
  Stream stream;
  Greedy(model, kv.get(), RandomTokens(30, 31), 0, 700, &stream);
  Greedy(model, kv.get(), {stream.tokens[5]}, 20, 60, &stream);
  stream.counts = model.ledger.Take();
  return stream;
}

TEST(CudaCaptureGpu, ReplayEqualsEagerAcrossEveryBucketAndAfterGoingBack) {
  const Stream eager = LongStream({"FG_CAPTURE=0"}), replay = LongStream({});
  EXPECT_GT(cuda::AttentionBucket(729), cuda::AttentionBucket(1));
  EXPECT_EQ(eager.counts.captures, 0u);
  EXPECT_EQ(eager.counts.replays, 0u);
  EXPECT_GE(replay.counts.captures, 2u);
  EXPECT_GT(replay.counts.replays, 700u);
  EXPECT_EQ(replay.tokens, eager.tokens);
  EXPECT_TRUE(SameFloats(replay.logits, eager.logits));
  EXPECT_EQ(NotFinite(replay.logits), 0);
  // The ledgers differ in captures and replays alone.
  EXPECT_EQ(replay.counts.dispatch, eager.counts.dispatch);
  EXPECT_EQ(replay.counts.launches[static_cast<int>(Phase::kDecode)],
            eager.counts.launches[static_cast<int>(Phase::kDecode)]);
  EXPECT_EQ(replay.counts.launches[static_cast<int>(Phase::kPrefill)],
            eager.counts.launches[static_cast<int>(Phase::kPrefill)]);
  EXPECT_TRUE(replay.counts.degradations.empty());
}

TEST(CudaCaptureGpu, ReplayEqualsEagerWithPoison) {
  CudaModelOptions poisoned = kLong;
  poisoned.poison = true;
  const Stream eager = LongStream({"FG_CAPTURE=0"}, poisoned), replay = LongStream({}, poisoned);
  EXPECT_TRUE(SameFloats(replay.logits, eager.logits));
  EXPECT_EQ(NotFinite(replay.logits), 0);
  EXPECT_GT(replay.counts.replays, 700u);
}

TEST(CudaCaptureGpu, APrefillThatComesAgainIsCapturedToo) {
  CudaModel model(MixedSpec());
  const std::vector<int32_t> a = RandomTokens(20, 32), b = RandomTokens(20, 33);
  const auto kv = model.NewKv();
  model.ledger.Take();
  std::vector<std::vector<float>> logits;
  for (const auto* tokens : {&a, &b, &a, &b}) {
    CudaModel::Output output;
    ASSERT_TRUE(model.Run(kv.get(), *tokens, 0, {}, &output).ok());
    logits.push_back(output.logits);
  }
  EXPECT_TRUE(SameFloats(logits[0], logits[2]));
  EXPECT_TRUE(SameFloats(logits[1], logits[3]));
  EXPECT_FALSE(SameFloats(logits[0], logits[1]));
  const Ledger::Counts counts = model.ledger.Take();
  EXPECT_EQ(counts.captures, 1u);
  EXPECT_EQ(counts.replays, 3u);
}

TEST(CudaCaptureGpu, TwoSessionsHaveStepsOfTheirOwn) {
  CudaModel model(MixedSpec());
  const std::vector<int32_t> tokens = RandomTokens(30, 34);
  const std::vector<float> want = model.Logits(tokens, 1);
  const auto a = model.NewKv(), b = model.NewKv();
  std::vector<float> got[2];
  for (size_t at = 0; at < tokens.size(); ++at) {
    for (int which = 0; which < 2; ++which) {
      CudaModel::Output output;
      const auto token = std::span(tokens).subspan(at, 1);
      ASSERT_TRUE(
          model.Run((which == 0 ? a : b).get(), token, static_cast<int64_t>(at), {}, &output).ok());
      got[which].insert(got[which].end(), output.logits.begin(), output.logits.end());
    }
  }
  EXPECT_TRUE(SameFloats(got[0], want));
  EXPECT_TRUE(SameFloats(got[1], want));
}

TEST(CudaCaptureGpu, StepsGoWithTheirCacheAndWithThePool) {
  CudaModel model(MixedSpec());
  const std::vector<int32_t> tokens = RandomTokens(10, 35);
  const uint64_t graph_before = model.memory.entry(MemoryCategory::kGraph).now;
  model.Logits(tokens, 1);
  EXPECT_EQ(model.backend->captured_steps(), 0u);  // its cache is gone
  model.DropGraphs();
  EXPECT_EQ(model.memory.entry(MemoryCategory::kGraph).now, graph_before);
  const auto kv = model.NewKv();
  CudaModel::Output output;
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(model.Run(kv.get(), std::span(tokens).first(1), run, {}, &output).ok());
  }
  EXPECT_EQ(model.backend->captured_steps(), 1u);
  EXPECT_GT(model.memory.entry(MemoryCategory::kGraph).now, graph_before);
  // More rows than the batch: the pool grows, and what holds its address goes.
  const std::vector<int32_t> many = RandomTokens(90, 36);
  ASSERT_TRUE(model.Run(kv.get(), many, 0, {.wanted = 90}, &output).ok());
  EXPECT_EQ(NotFinite(output.logits), 0);
  EXPECT_LE(model.backend->captured_steps(), 1u);
  ASSERT_TRUE(model.Run(kv.get(), std::span(tokens).first(1), 5, {}, &output).ok());
  EXPECT_EQ(NotFinite(output.logits), 0);
}

TEST(CudaCaptureGpu, LaunchesThatAreWaitedForAreNotCaptured) {
  CudaModel model(MixedSpec(), {"FG_SYNC_LAUNCH=1"}), timed(MixedSpec()), plain(MixedSpec());
  const std::vector<int32_t> tokens = RandomTokens(12, 37);
  EXPECT_TRUE(timed.backend->TimeKernels(true));
  const std::vector<float> want = plain.Logits(tokens, 1);
  EXPECT_TRUE(SameFloats(model.Logits(tokens, 1), want));
  EXPECT_TRUE(SameFloats(timed.Logits(tokens, 1), want));
  EXPECT_EQ(model.ledger.Take().captures, 0u);
  EXPECT_EQ(timed.ledger.Take().captures, 0u);
  EXPECT_GT(plain.ledger.Take().captures, 0u);
  const std::vector<KernelTime> times = timed.backend->TakeKernelTimes();
  ASSERT_FALSE(times.empty());
  for (const KernelTime& time : times) {
    EXPECT_GT(time.launches, 0u) << time.kernel;
    EXPECT_GT(time.seconds, 0) << time.kernel;
    EXPECT_GT(time.bytes, 0) << time.kernel;
  }
}

TEST(CudaCaptureGpu, AStaleReplayIsAnotherResult) {
  const Stream eager = LongStream({"FG_CAPTURE=0", "FG_FAULT=stale_replay"});
  const Stream stale = LongStream({"FG_FAULT=stale_replay"});
  EXPECT_TRUE(SameFloats(eager.logits, LongStream({}).logits));
  EXPECT_FALSE(SameFloats(stale.logits, eager.logits));
}

// --- A step that cannot be captured
// -----------------------------------------------------------------

TEST(CudaCaptureGpu, AFailedCaptureLeavesTheStreamAsItWas) {
  TestContext test;
  ASSERT_NE(test.context, nullptr);
  CudaContext& context = *test.context;
  CapturedStep step;
  const Status own = step.Capture(context.stream(), &test.memory,
                                  [] { return Status(ErrorKind::kDevice, "no such kernel"); });
  EXPECT_EQ(own.message(), "no such kernel");
  EXPECT_FALSE(step.captured());
  const Status waits = step.Capture(context.stream(), &test.memory, [&] {
    (void)cudaStreamSynchronize(context.stream());  // not allowed while capturing
    return Status::Ok();
  });
  EXPECT_FALSE(waits.ok());
  EXPECT_FALSE(step.captured());
  EXPECT_EQ(test.memory.entry(MemoryCategory::kGraph).now, 0u);
  EXPECT_TRUE(context.Wait("the stream").ok());
  EXPECT_TRUE(context.device_error().ok());
  auto buffer = DeviceBuffer::Allocate(256, MemoryCategory::kScratch, &test.memory, "a test", "");
  ASSERT_TRUE(buffer.ok());
  const Status good = step.Capture(context.stream(), &test.memory, [&] {
    return context.Check(cudaMemsetAsync(buffer->data(), 7, 256, context.stream()), "a fill");
  });
  EXPECT_TRUE(good.ok()) << good.message();
  EXPECT_TRUE(step.captured());
  EXPECT_EQ(test.memory.entry(MemoryCategory::kGraph).now, CapturedStep::kBytesANode);
}

}  // namespace
}  // namespace fg
