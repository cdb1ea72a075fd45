#include "engine/backend/cpu/matmul_path.h"

#include <gtest/gtest.h>

#include "engine/backend/backend.h"
#include "engine/testing/test_engine.h"

namespace fg {
namespace {

using testing::GatesOf;
using Environment = std::vector<std::string>;

struct Row {
  TensorType type;
  Environment environment;
  MatmulPath path;
  std::string label;
  int reads;  // of gates, all of them together
};

int Reads(const Ledger& ledger) {
  int reads = 0;
  for (const auto& [key, count] : ledger.counts().gate_reads) reads += static_cast<int>(count);
  return reads;
}

// The path table of docs/arithmetic.md, row by row.
TEST(MatmulPath, WalksTheTable) {
  const Environment off = {}, mmq = {"FG_MMQ=1"}, raw = {"FG_MMQ=1", "FG_MMQ_RAW=1"},
                    nibble = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1"},
                    no_raw = {"FG_MMQ=1", "FG_MMQ_RAW_NB=1"},
                    no_mmq = {"FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1"};
  const std::vector<Row> table = {
      {TensorType::kQ4_K, off, MatmulPath::kGemmF16, "gemm.f16.q4_K", 1},
      {TensorType::kQ4_K, no_mmq, MatmulPath::kGemmF16, "gemm.f16.q4_K", 1},
      {TensorType::kQ4_K, mmq, MatmulPath::kMmqGeneric, "mmq.q4_K.generic", 2},
      {TensorType::kQ4_K, no_raw, MatmulPath::kMmqGeneric, "mmq.q4_K.generic", 2},
      {TensorType::kQ4_K, raw, MatmulPath::kMmqRaw, "mmq.q4_K.raw", 3},
      {TensorType::kQ4_K, nibble, MatmulPath::kMmqNibble, "mmq.q4_K.nb", 3},
      {TensorType::kQ6_K, off, MatmulPath::kGemmF16, "gemm.f16.q6_K", 1},
      {TensorType::kQ6_K, nibble, MatmulPath::kGemmF16, "gemm.f16.q6_K", 1},
      {TensorType::kQ4_0, off, MatmulPath::kGemmF16, "gemm.f16.q4_0", 1},
      {TensorType::kQ4_0, nibble, MatmulPath::kMmqGeneric, "mmq.q4_0.generic", 1},
      {TensorType::kF16, nibble, MatmulPath::kGemmF16, "gemm.f16.f16", 0},
      {TensorType::kBF16, nibble, MatmulPath::kGemmBF16, "gemm.f16.bf16", 0},
      {TensorType::kF32, nibble, MatmulPath::kGemmF32, "gemm.f32.f32", 0},
      {TensorType::kF32, off, MatmulPath::kGemmF32, "gemm.f32.f32", 0},
  };
  for (const Row& row : table) {
    Ledger ledger;
    const Gates gates = GatesOf(row.environment, &ledger);
    const MatmulChoice choice = ChooseMatmulPath(gates, row.type, 256, 16, Phase::kPrefill);
    EXPECT_EQ(choice.path, row.path) << row.label;
    EXPECT_EQ(choice.label, row.label);
    EXPECT_EQ(Reads(ledger), row.reads) << row.label;
    for (const auto& [key, count] : ledger.counts().gate_reads) {
      EXPECT_EQ(key.second, Phase::kPrefill);
    }
  }
}

TEST(MatmulPath, FewRowsAnOddWidthAndForcedRowsReadNoGate) {
  const Environment on = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1"};
  Environment forced = on;
  forced.push_back("FG_PREFILL_GEMM=0");
  const auto label = [](const Environment& environment, TensorType type, int64_t k, int64_t rows) {
    Ledger ledger;
    const Gates gates = GatesOf(environment, &ledger);
    const MatmulChoice choice = ChooseMatmulPath(gates, type, k, rows, PhaseOfRows(rows));
    EXPECT_EQ(choice.path, MatmulPath::kRows);
    EXPECT_TRUE(ledger.counts().gate_reads.empty());
    return choice.label;
  };
  for (const int64_t rows : {1, 2, 15}) {
    EXPECT_EQ(label(on, TensorType::kQ4_K, 256, rows), "row.q4_K");
    EXPECT_EQ(label(on, TensorType::kF16, 256, rows), "row.f16");
  }
  EXPECT_EQ(label(on, TensorType::kF32, 72, 16), "row.f32");
  EXPECT_EQ(label(on, TensorType::kBF16, 33, 512), "row.bf16");
  EXPECT_EQ(label(forced, TensorType::kQ4_K, 256, 512), "row.q4_K");
}

TEST(MatmulPath, PlantedFaultsShow) {
  const auto choose = [](Environment environment, int64_t rows, Ledger* ledger) {
    const Gates gates = GatesOf(environment, ledger);
    return ChooseMatmulPath(gates, TensorType::kQ4_K, 256, rows, PhaseOfRows(rows));
  };
  Ledger ledger;
  const MatmulChoice dead = choose(
      {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1", "FG_FAULT=dead_fast_path"}, 16, &ledger);
  EXPECT_EQ(dead.path, MatmulPath::kMmqGeneric);
  EXPECT_EQ(dead.label, "mmq.q4_K.generic!");
  EXPECT_EQ(choose({"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_FAULT=dead_fast_path"}, 16, &ledger).label,
            "mmq.q4_K.raw");
  const MatmulChoice ignored =
      choose({"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_FAULT=optout_ignored"}, 16, &ledger);
  EXPECT_EQ(ignored.path, MatmulPath::kMmqNibble);
  EXPECT_EQ(ignored.label, "mmq.q4_K.nb");
  ledger.Take();
  EXPECT_EQ(choose({"FG_FAULT=gate_read_in_decode"}, 1, &ledger).label, "row.q4_K");
  const std::map<std::pair<std::string, Phase>, uint64_t> reads = {{{"FG_MMQ", Phase::kDecode}, 1}};
  EXPECT_EQ(ledger.counts().gate_reads, reads);
}

TEST(MatmulPath, KernelFaultsBelongToTheirKernel) {
  const auto fault = [](const char* name, MatmulPath path) {
    return KernelFaultOf(Faults::Parse(name).value(), path);
  };
  EXPECT_EQ(fault("nibbles_swapped", MatmulPath::kMmqNibble), KernelFault::kSwapNibbles);
  EXPECT_EQ(fault("nibbles_swapped", MatmulPath::kMmqRaw), KernelFault::kNone);
  EXPECT_EQ(fault("min_dropped", MatmulPath::kMmqNibble), KernelFault::kDropMin);
  EXPECT_EQ(fault("min_dropped", MatmulPath::kMmqGeneric), KernelFault::kNone);
  EXPECT_EQ(fault("raw_tail_skipped", MatmulPath::kMmqRaw), KernelFault::kWrongTail);
  EXPECT_EQ(fault("raw_tail_skipped", MatmulPath::kMmqNibble), KernelFault::kNone);
}

}  // namespace
}  // namespace fg
