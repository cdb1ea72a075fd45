// What a CUDA backend takes, books, says and refuses.
#include "engine/backend/cuda/cuda_backend_testing.h"

namespace fg {
namespace {

using namespace testing;  // NOLINT: the helpers of the tests' headers

TEST(CudaBackendGpu, BooksWhatItTakesAndGivesItBack) {
  CudaModel model(MixedSpec());
  ASSERT_TRUE(model.status.ok()) << model.status.message();
  const auto now = [&](MemoryCategory category) { return model.memory.entry(category).now; };
  EXPECT_GT(now(MemoryCategory::kWeights), 0u);
  EXPECT_GT(now(MemoryCategory::kF16Cache), 0u);
  EXPECT_GT(now(MemoryCategory::kScratch), 0u);
  EXPECT_EQ(now(MemoryCategory::kPlanes), 0u);
  EXPECT_EQ(now(MemoryCategory::kKv), 0u);
  {
    const auto kv = model.NewKv();
    // Keys and values of 2 layers, 96 positions, 2 heads of 64, f16.
    EXPECT_EQ(now(MemoryCategory::kKv), 2u * 2 * 96 * 2 * 64 * 2);
  }
  EXPECT_EQ(now(MemoryCategory::kKv), 0u);
  model.backend.reset();
  for (int category = 0; category < kMemoryCategories; ++category) {
    EXPECT_EQ(now(static_cast<MemoryCategory>(category)), 0u) << category;
  }
}

TEST(CudaBackendGpu, TakesTheRoomOfTheLargestForwardAtLoad) {
  CudaModel model(MixedSpec());
  const uint64_t before = model.memory.entry(MemoryCategory::kScratch).now;
  model.Logits(RandomTokens(48, 41));
  model.Logits(RandomTokens(48, 41), 15);
  model.Logits(RandomTokens(48, 41), 1);
  EXPECT_EQ(model.memory.entry(MemoryCategory::kScratch).now, before);
  model.Logits(RandomTokens(60, 41));  // beyond the batch
  EXPECT_GT(model.memory.entry(MemoryCategory::kScratch).now, before);
}

TEST(CudaBackendGpu, SaysWhatTheDriverSays) {
  CudaModel model(MixedSpec());
  const auto memory = model.backend->device_memory();
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(memory->total, 0u);
  EXPECT_GT(memory->used, 0u);
  EXPECT_LE(memory->used, memory->total);
  EXPECT_GT(memory->used_before, 0u);
}

TEST(CudaBackendGpu, UnbookedMemoryIsTheDevicesAndNotTheBooks) {
  CudaModel healthy(MixedSpec());
  const uint64_t booked = healthy.memory.entry(MemoryCategory::kScratch).now;
  const auto before = healthy.backend->device_memory();
  CudaModel faulty(MixedSpec(), {"FG_FAULT=unbooked_memory"});
  EXPECT_EQ(faulty.memory.entry(MemoryCategory::kScratch).now, booked);
  EXPECT_GE(faulty.backend->device_memory()->used, before->used + (uint64_t{64} << 20));
}

TEST(CudaBackendGpu, ReportsTheWeightMixAndNoPlanes) {
  CudaModel nibble(MixedSpec(), {"FG_MMQ_A_FUSE=2"}), other(WideSpec(TensorType::kQ8_0));
  EXPECT_TRUE(nibble.backend->load_report().nibble_family_only);
  EXPECT_EQ(nibble.backend->load_report().fuse_asked, 2);
  EXPECT_EQ(nibble.backend->load_report().fuse_mode, 0);
  EXPECT_TRUE(nibble.backend->load_report().planes.empty());
  EXPECT_FALSE(other.backend->load_report().nibble_family_only);
}

TEST(CudaBackendGpu, NamesATensorThatTheModelLacks) {
  CudaModel model(MixedSpec());
  Graph graph = BuildGraph({model.model().shape, 1, 1});
  graph.nodes[1].weight = "blk.0.attn_nrm.weight";
  const auto prepared = model.backend->Prepare(graph);
  EXPECT_EQ(prepared.status().kind(), ErrorKind::kInternal);
  EXPECT_EQ(prepared.status().message(),
            "the graph names tensor 'blk.0.attn_nrm.weight', the model has none");
}

TEST(CudaBackendGpu, AContextThatDoesNotFitIsSaid) {
  TinyModelSpec spec = MixedSpec();
  spec.context = 1 << 20;
  CudaModel model(spec, {}, {.context = 1 << 20, .batch = 16, .poison = false});
  ASSERT_TRUE(model.status.ok()) << model.status.message();
  // 2 layers x 2 x 2^20 positions x 128 values x 2 bytes = 1 GiB a cache.
  std::vector<std::unique_ptr<KvCache>> caches;
  Status refused;
  for (int i = 0; i < 400 && refused.ok(); ++i) {
    auto kv = model.backend->NewKvCache();
    if (kv.ok()) caches.push_back(std::move(*kv));
    if (!kv.ok()) refused = kv.status();
  }
  EXPECT_EQ(refused.kind(), ErrorKind::kOutOfMemory);
  EXPECT_TRUE(refused.message().starts_with("a KV cache: 1024 MiB of device memory do not fit, "))
      << refused.message();
  EXPECT_TRUE(refused.message().ends_with("; set a smaller --context")) << refused.message();
  caches.clear();
  EXPECT_TRUE(model.backend->NewKvCache().ok());  // out of memory is not final
}

TEST(CudaBackendGpu, PoisonShowsAReadOfWhatNobodyWrote) {
  CudaModel model(MixedSpec());
  const auto kv = model.NewKv();
  CudaModel::Output output;
  const std::vector<int32_t> token = {1};
  ASSERT_TRUE(model.Run(kv.get(), token, 5, {}, &output).ok());  // positions 0 to 4 are missing
  EXPECT_EQ(NotFinite(output.logits), static_cast<int>(model.vocabulary()));
}

}  // namespace
}  // namespace fg
