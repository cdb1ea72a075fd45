#include "engine/backend/cuda/cuda_matmul_path.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fg {
namespace {

constexpr TensorType kTypes[] = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16,
                                 TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                 TensorType::kQ4_K, TensorType::kQ6_K};

Gates GatesOf(const std::vector<std::string>& environment, Ledger* ledger) {
  auto gates = Gates::FromEnvironment(environment, "sm_90", ledger);
  if (!gates.ok()) ADD_FAILURE() << gates.status().message();
  return std::move(gates).value();
}

std::string LabelFor(const Gates& gates, TensorType type, int64_t k, int64_t rows) {
  const Phase phase = rows >= kPrefillRows ? Phase::kPrefill : Phase::kDecode;
  return CudaMatmulLabel(ChooseCudaMatmulPath(gates, type, k, rows, phase), type);
}

TEST(CudaMatmulPath, SixteenRowsTakeTheGemm) {
  const Gates gates = GatesOf({}, nullptr);
  for (const TensorType type : kTypes) {
    const std::string name = InfoOf(type).name;
    const std::string wide = type == TensorType::kF32 ? "gemm.f32.f32" : "gemm.f16." + name;
    for (const int64_t rows : {1, 2, 14, 15}) {
      EXPECT_EQ(LabelFor(gates, type, 256, rows), "row." + name) << rows;
    }
    for (const int64_t rows : {16, 17, 512}) {
      EXPECT_EQ(LabelFor(gates, type, 256, rows), wide) << rows;
    }
  }
}

TEST(CudaMatmulPath, OtherLengthsTakeTheRowsWhateverTheirNumber) {
  const Gates gates = GatesOf({}, nullptr);
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16}) {
    for (const int64_t k : {1, 31, 33, 100}) {
      EXPECT_EQ(LabelFor(gates, type, k, 64), std::string("row.") + InfoOf(type).name) << k;
    }
    EXPECT_NE(LabelFor(gates, type, 96, 64), std::string("row.") + InfoOf(type).name);
  }
}

TEST(CudaMatmulPath, TheSettingForcesTheRows) {
  const Gates gates = GatesOf({"FG_PREFILL_GEMM=0"}, nullptr);
  for (const TensorType type : kTypes) {
    EXPECT_EQ(LabelFor(gates, type, 256, 512), std::string("row.") + InfoOf(type).name);
  }
}

TEST(CudaMatmulPath, NoGateIsReadAndNoneMatters) {
  Ledger ledger;
  const Gates off = GatesOf({}, &ledger);
  const Gates on = GatesOf({"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1", "FG_MMQ_A_TRANSPOSE=1",
                            "FG_MMQ_Q6K_NB=1", "FG_MMQ_A_FUSE=2"},
                           &ledger);
  for (const TensorType type : kTypes) {
    for (const int64_t rows : {1, 15, 16, 100}) {
      EXPECT_EQ(LabelFor(on, type, 256, rows), LabelFor(off, type, 256, rows));
    }
  }
  EXPECT_TRUE(ledger.counts().gate_reads.empty());
}

TEST(CudaMatmulPath, ThePlantedReadInDecodeIsCounted) {
  Ledger ledger;
  const Gates gates = GatesOf({"FG_FAULT=gate_read_in_decode"}, &ledger);
  EXPECT_EQ(LabelFor(gates, TensorType::kQ4_K, 256, 1), "row.q4_K");
  EXPECT_EQ(ledger.counts().gate_reads.at({"FG_MMQ", Phase::kDecode}), 1u);
  EXPECT_EQ(LabelFor(gates, TensorType::kQ4_K, 256, 16), "gemm.f16.q4_K");
  EXPECT_EQ(ledger.counts().gate_reads.size(), 1u);
}

}  // namespace
}  // namespace fg
