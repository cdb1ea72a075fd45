#include "engine/backend/cuda/cuda_weights.h"

#include <cmath>
#include <span>

#include "base/file.h"
#include "engine/backend/cuda/cuda_weights_upload.h"
#include "engine/backend/cuda/gpu_engine_testing.h"
#include "engine/testing/tiny_model.h"
#include "kernels/cuda/resident_gather.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

using testing::TestContext;

constexpr TensorType kTypes[] = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16,
                                 TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                 TensorType::kQ4_K, TensorType::kQ6_K};

// The resident form of `view`, by the index maps.
std::vector<std::byte> Resident(const WeightView& view) {
  const auto* from = static_cast<const std::byte*>(view.data);
  const int64_t file_row = RowBytes(view.type, view.k);
  const int64_t row_bytes = cuda::ResidentRowBytes(view.type, view.k);
  std::vector<std::byte> to(static_cast<size_t>(row_bytes * view.out));
  const int64_t blocks = view.k / InfoOf(view.type).block_values;
  for (int64_t row = 0; row < view.out; ++row) {
    for (int64_t half = 0; half < row_bytes / 2; ++half) {
      const int64_t source =
          cuda::IsGathered(view.type) ? cuda::GatherSource(view.type, blocks, half) : half;
      if (source == cuda::kPaddingSource) continue;  // stays zero
      std::memcpy(&to[row * row_bytes + half * 2], from + row * file_row + source * 2, 2);
    }
  }
  return to;
}

std::vector<std::byte> FromDevice(const void* at, size_t bytes) {
  std::vector<std::byte> host(bytes);
  EXPECT_EQ(cudaMemcpy(host.data(), at, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  return host;
}

void ExpectF16Cache(const CudaWeight& weight) {
  const WeightView& view = weight.view;
  const auto bytes = FromDevice(weight.f16, static_cast<size_t>(view.out * view.k) * 2);
  const auto* f16 = reinterpret_cast<const uint16_t*>(bytes.data());
  std::vector<float> want(static_cast<size_t>(view.k));
  for (int64_t row = 0; row < view.out; ++row) {
    const auto* from = static_cast<const std::byte*>(view.data);
    ASSERT_TRUE(
        DequantizeRow(view.type, from + row * RowBytes(view.type, view.k), view.k, want.data()));
    for (int64_t i = 0; i < view.k; ++i) {
      ASSERT_EQ(f16[row * view.k + i], F32ToF16(want[i]))
          << view.name << ", row " << row << ", column " << i;
    }
  }
}

// A model's file, parsed.
struct Model {
  explicit Model(const testing::TinyModelSpec& spec) {
    bytes = testing::TinyModelBytes(spec);
    auto parsed = GgufFile::Parse(std::as_bytes(std::span(bytes)));
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    file = std::move(parsed).value();
    auto read = ModelWeights::Read(file, spec.shape);
    EXPECT_TRUE(read.ok()) << read.status().message();
    weights = std::move(read).value();
  }
  std::string bytes;
  GgufFile file;
  ModelWeights weights;
};

TEST(CudaWeightsGpu, LieAsTheIndexMapsSayAndHaveTheCpusF16) {
  for (const TensorType type : kTypes) {
    SCOPED_TRACE(InfoOf(type).name);
    const Model model(testing::WideSpec(type));
    TestContext test;
    uint64_t resident = 0, cached = 0;
    {
      CudaWeights weights;
      const Status loaded = weights.Load(*test.context, model.weights);
      ASSERT_TRUE(loaded.ok()) << loaded.message();
      EXPECT_EQ(weights.all().size(), model.weights.all().size());
      for (const ModelWeight& weight : model.weights.all()) {
        const CudaWeight* there = weights.Find(weight.view.name);
        ASSERT_NE(there, nullptr);
        const std::vector<std::byte> want = Resident(weight.view);
        EXPECT_EQ(FromDevice(there->resident, want.size()), want) << weight.view.name;
        resident += (want.size() + 255) / 256 * 256;
        const bool f16 = weight.view.type == TensorType::kF16;
        const bool cache =
            weight.role == WeightRole::kW16 && !f16 && weight.view.type != TensorType::kF32;
        EXPECT_EQ(there->f16 != nullptr, cache || f16) << weight.view.name;
        if (f16) {
          EXPECT_EQ(there->f16, there->resident);
        }
        if (!cache) continue;
        ExpectF16Cache(*there);
        cached += static_cast<uint64_t>(weight.view.out) * weight.view.k * 2;
      }
      EXPECT_EQ(weights.Find("blk.9.attn_q.weight"), nullptr);
      EXPECT_EQ(test.memory.entry(MemoryCategory::kWeights).now, resident);
      EXPECT_EQ(test.memory.entry(MemoryCategory::kF16Cache).now, cached);
      EXPECT_EQ(test.memory.entry(MemoryCategory::kScratch).now, 0u);
    }
    EXPECT_EQ(test.memory.entry(MemoryCategory::kWeights).now, 0u);
    EXPECT_TRUE(test.ledger.counts().degradations.empty());
  }
}

TEST(CudaWeightsGpu, BuildNoCacheWhereTheRowsAreForced) {
  const Model model(testing::WideSpec(TensorType::kQ4_K));
  TestContext test({"FG_PREFILL_GEMM=0"});
  CudaWeights weights;
  ASSERT_TRUE(weights.Load(*test.context, model.weights).ok());
  EXPECT_EQ(test.memory.entry(MemoryCategory::kF16Cache).now, 0u);
  EXPECT_EQ(weights.Find("blk.0.attn_q.weight")->f16, nullptr);
}

TEST(CudaWeightsGpu, GatesOfTheInt8FamilyAreDegraded) {
  const Model model(testing::WideSpec(TensorType::kQ4_K));
  TestContext test({"FG_MMQ=1", "FG_MMQ_A_FUSE=2", "FG_MMQ_Q4K_DSC=1"});
  CudaWeights weights;
  ASSERT_TRUE(weights.Load(*test.context, model.weights).ok());
  const std::vector<Degradation> want = {{"FG_MMQ=1", "FG_MMQ=0", "backend"},
                                         {"FG_MMQ_A_FUSE=2", "FG_MMQ_A_FUSE=0", "backend"},
                                         {"FG_MMQ_Q4K_DSC=1", "FG_MMQ_Q4K_DSC=0", "backend"}};
  EXPECT_EQ(test.ledger.counts().degradations, want);
  EXPECT_EQ(test.ledger.counts().gate_reads.at({"FG_MMQ", Phase::kLoad}), 1u);
}

TEST(CudaWeightsGpu, AValueBeyondF16IsRefusedByName) {
  testing::TinyModelSpec spec = testing::WideSpec(TensorType::kBF16);
  spec.edit = [](const std::string& name, std::vector<float>* values) {
    if (name == "blk.0.ffn_up.weight") (*values)[256 * 3 + 5] = 70144;  // a bf16
  };
  const Model model(spec);
  TestContext test;
  CudaWeights weights;
  const Status loaded = weights.Load(*test.context, model.weights);
  EXPECT_EQ(loaded.kind(), ErrorKind::kBadModel);
  EXPECT_EQ(loaded.message(),
            "tensor 'blk.0.ffn_up.weight': value 70144.000000 at row 3, column 5 does not fit the "
            "f16 cache; keep this tensor in f32");
  EXPECT_EQ(test.memory.entry(MemoryCategory::kWeights).now, 0u);
}

// More than two pieces, the last one short.
TEST(WeightUploadGpu, LargeWeightsArriveWhole) {
  for (const TensorType type : {TensorType::kF16, TensorType::kQ6_K}) {
    SCOPED_TRACE(InfoOf(type).name);
    const int64_t k = 4096, out = type == TensorType::kF16 ? 9001 : 25003;
    const auto bytes = static_cast<size_t>(RowBytes(type, k) * out);
    ASSERT_GT(bytes, size_t{70} << 20);
    std::vector<uint32_t> data(bytes / 4 + 1);
    std::mt19937 random(7);
    for (uint32_t& word : data) word = static_cast<uint32_t>(random());
    const WeightView view = {"w", type, data.data(), k, out};
    TestContext test({"FG_THREADS=4"});
    const std::vector<std::byte> want = Resident(view);
    auto there = DeviceBuffer::Allocate(want.size(), MemoryCategory::kWeights, nullptr, "w", "");
    ASSERT_TRUE(there.ok()) << there.status().message();
    {
      WeightUpload upload;
      ASSERT_TRUE(upload.Start(test.context.get(), bytes, RowBytes(type, k)).ok());
      ASSERT_TRUE(upload.Upload(view, there->data()).ok());
    }
    ASSERT_TRUE(test.context->Wait("the upload").ok());
    const std::vector<std::byte> got = FromDevice(there->data(), want.size());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.size()), 0);
  }
}

}  // namespace
}  // namespace fg
