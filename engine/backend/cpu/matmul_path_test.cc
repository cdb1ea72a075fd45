#include "engine/backend/cpu/matmul_path.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/backend/backend.h"
#include "engine/testing/test_engine.h"

namespace fg {
namespace {

using testing::GatesOf;
using Environment = std::vector<std::string>;

constexpr TensorType kTypes[] = {TensorType::kF32,  TensorType::kF16,  TensorType::kBF16,
                                 TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                 TensorType::kQ4_K, TensorType::kQ6_K};

// The seven switches, by bit.
constexpr const char* kSwitches[] = {
    "FG_MMQ",        "FG_MMQ_RAW",     "FG_MMQ_RAW_NB", "FG_MMQ_A_TRANSPOSE",
    "FG_MMQ_Q6K_NB", "FG_MMQ_Q6K_EXP", "FG_MMQ_Q4K_DSC"};
struct Bits {
  bool mmq, raw, nb, bt, q6, exp, dsc;
  explicit Bits(int mask)
      : mmq(mask & 1),
        raw(mask & 2),
        nb(mask & 4),
        bt(mask & 8),
        q6(mask & 16),
        exp(mask & 32),
        dsc(mask & 64) {}
};

Environment EnvironmentOf(int mask, int mode) {
  Environment environment = {"FG_MMQ_A_FUSE=" + std::to_string(mode)};
  for (int i = 0; i < 7; ++i) {
    environment.push_back(std::string(kSwitches[i]) + "=" + ((mask >> i) & 1 ? "1" : "0"));
  }
  return environment;
}

// The table of docs/arithmetic.md "16 rows", written down once more, first match.
std::string LabelByTheTable(TensorType type, const Bits& on) {
  const std::string name = InfoOf(type).name;
  if (type == TensorType::kF32) return "gemm.f32.f32";
  if (!on.mmq || type == TensorType::kF16 || type == TensorType::kBF16) return "gemm.f16." + name;
  if (type == TensorType::kQ6_K) {
    if (!on.q6) return "gemm.f16.q6_K";
    if (!on.nb) return "mmq.q6_K.generic";
    return std::string("mmq.q6_K.nb") + (on.bt ? ".bt" : "") + (on.exp ? ".exp" : "");
  }
  if (type == TensorType::kQ4_K) {
    if (!on.raw) return "mmq.q4_K.generic";
    if (!on.nb) return "mmq.q4_K.raw";
    return std::string("mmq.q4_K.nb") + (on.bt ? ".bt" : "") + (on.bt && on.dsc ? ".dsc" : "");
  }
  return "mmq." + name + ".generic";
}

// What a label promises of the path.
void ExpectPathOfLabel(const MatmulChoice& choice) {
  const auto holds = [&](const char* part) { return choice.label.find(part) != std::string::npos; };
  const MatmulPath path = holds("gemm.f32")        ? MatmulPath::kGemmF32
                          : holds("gemm.f16.bf16") ? MatmulPath::kGemmBF16
                          : holds("gemm.f16")      ? MatmulPath::kGemmF16
                          : holds(".generic")      ? MatmulPath::kMmqGeneric
                          : holds(".raw")          ? MatmulPath::kMmqRaw
                          : holds(".bt")           ? MatmulPath::kMmqTiles
                                                   : MatmulPath::kMmqNibble;
  EXPECT_EQ(choice.path, path) << choice.label;
  const WeightPlane plane = holds(".dsc")   ? WeightPlane::kScales
                            : holds(".exp") ? WeightPlane::kExpanded
                                            : WeightPlane::kNone;
  EXPECT_EQ(choice.plane, plane) << choice.label;
}

TEST(MatmulPath, FollowsTheTableOverAllSettings) {
  for (int mask = 0; mask < 128; ++mask) {
    for (int mode = 0; mode < 3; ++mode) {
      Ledger ledger;
      const Gates gates = GatesOf(EnvironmentOf(mask, mode), &ledger);
      for (const TensorType type : kTypes) {
        SCOPED_TRACE(std::to_string(mask) + " " + InfoOf(type).name);
        const MatmulChoice choice = ChooseMatmulPath(gates, type, 256, 16, Phase::kPrefill);
        EXPECT_EQ(choice.label, LabelByTheTable(type, Bits(mask)));
        ExpectPathOfLabel(choice);
        EXPECT_EQ(ChooseMatmulPath(gates, type, 256, 512, Phase::kLoad), choice);
      }
    }
  }
}

// With FG_MMQ and FG_MMQ_Q6K_NB on: five switches of the same bits and three modes.
TEST(MatmulPath, NinetySixCombinationsAreTwentyPaths) {
  std::set<std::string> paths;
  int combinations = 0;
  for (int mask = 0; mask < 128; ++mask) {
    const Bits on(mask);
    if (!on.mmq || !on.q6) continue;
    for (int mode = 0; mode < 3; ++mode) {
      ++combinations;
      Ledger ledger;
      const Gates gates = GatesOf(EnvironmentOf(mask, mode), &ledger);
      const auto label = [&](TensorType type) {
        return ChooseMatmulPath(gates, type, 256, 16, Phase::kPrefill).label;
      };
      const bool needs = on.raw && on.nb && on.bt;
      paths.insert(label(TensorType::kQ4_K) + " " + label(TensorType::kQ6_K) + " " +
                   std::to_string(needs ? mode : 0));
    }
  }
  EXPECT_EQ(combinations, 96);
  EXPECT_EQ(paths.size(), 20u);
}

// A gate is asked only where its answer decides.
TEST(MatmulPath, ReadsWhatItNeeds) {
  const auto reads = [](int mask, TensorType type) {
    Ledger ledger;
    const Gates gates = GatesOf(EnvironmentOf(mask, 2), &ledger);
    (void)ChooseMatmulPath(gates, type, 256, 16, Phase::kPrefill);
    std::string names;
    for (const auto& [key, count] : ledger.counts().gate_reads) {
      EXPECT_EQ(key.second, Phase::kPrefill);
      EXPECT_EQ(count, 1u);
      names += (names.empty() ? "" : " ") + key.first.substr(3);
    }
    return names;
  };
  const TensorType q4 = TensorType::kQ4_K, q6 = TensorType::kQ6_K;
  EXPECT_EQ(reads(0, q4), "MMQ");
  EXPECT_EQ(reads(1, q4), "MMQ MMQ_RAW");
  EXPECT_EQ(reads(3, q4), "MMQ MMQ_RAW MMQ_RAW_NB");
  EXPECT_EQ(reads(7, q4), "MMQ MMQ_A_TRANSPOSE MMQ_RAW MMQ_RAW_NB");
  EXPECT_EQ(reads(127, q4), "MMQ MMQ_A_TRANSPOSE MMQ_Q4K_DSC MMQ_RAW MMQ_RAW_NB");
  EXPECT_EQ(reads(1, q6), "MMQ MMQ_Q6K_NB");
  EXPECT_EQ(reads(1 + 16, q6), "MMQ MMQ_Q6K_NB MMQ_RAW_NB");
  EXPECT_EQ(reads(127, q6), "MMQ MMQ_A_TRANSPOSE MMQ_Q6K_EXP MMQ_Q6K_NB MMQ_RAW_NB");
  EXPECT_EQ(reads(127, TensorType::kQ4_0), "MMQ");
  Ledger ledger;
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBF16}) {
    (void)ChooseMatmulPath(GatesOf(EnvironmentOf(127, 2), &ledger), type, 256, 16, Phase::kLoad);
  }
  EXPECT_TRUE(ledger.counts().gate_reads.empty());
}

TEST(MatmulPath, FewRowsAnOddWidthAndForcedRowsReadNoGate) {
  const Environment on = EnvironmentOf(127, 2);
  Environment forced = on;
  forced.push_back("FG_PREFILL_GEMM=0");
  const auto label = [](const Environment& environment, TensorType type, int64_t k, int64_t rows) {
    Ledger ledger;
    const Gates gates = GatesOf(environment, &ledger);
    const MatmulChoice choice = ChooseMatmulPath(gates, type, k, rows, PhaseOfRows(rows));
    EXPECT_EQ(choice.path, MatmulPath::kRows);
    EXPECT_EQ(choice.plane, WeightPlane::kNone);
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

TEST(MatmulPath, APlaneThatDidNotFitIsMarked) {
  const auto without = [](int mask, TensorType type) {
    Ledger ledger;
    const Gates gates = GatesOf(EnvironmentOf(mask, 0), &ledger);
    const MatmulChoice wanted = ChooseMatmulPath(gates, type, 256, 16, Phase::kPrefill);
    const MatmulChoice choice = WithoutPlane(wanted);
    EXPECT_NE(wanted.plane, WeightPlane::kNone);
    EXPECT_EQ(choice.plane, WeightPlane::kNone);
    EXPECT_EQ(choice.path, wanted.path);
    return choice.label;
  };
  EXPECT_EQ(without(127, TensorType::kQ4_K), "mmq.q4_K.nb.bt!");
  EXPECT_EQ(without(127, TensorType::kQ6_K), "mmq.q6_K.nb.bt!");
  EXPECT_EQ(without(127 - 8, TensorType::kQ6_K), "mmq.q6_K.nb!");
}

TEST(MatmulPath, PlantedFaultsShow) {
  const auto choose = [](Environment environment, TensorType type, int64_t rows, Ledger* ledger) {
    const Gates gates = GatesOf(environment, ledger);
    return ChooseMatmulPath(gates, type, 256, rows, PhaseOfRows(rows));
  };
  const TensorType q4 = TensorType::kQ4_K, q6 = TensorType::kQ6_K;
  Ledger ledger;
  const MatmulChoice dead = choose(
      {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1", "FG_FAULT=dead_fast_path"}, q4, 16, &ledger);
  EXPECT_EQ(dead.path, MatmulPath::kMmqGeneric);
  EXPECT_EQ(dead.label, "mmq.q4_K.generic!");
  EXPECT_EQ(choose({"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_FAULT=dead_fast_path"}, q4, 16, &ledger).label,
            "mmq.q4_K.raw");
  const MatmulChoice ignored =
      choose({"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_FAULT=optout_ignored"}, q4, 16, &ledger);
  EXPECT_EQ(ignored.path, MatmulPath::kMmqNibble);
  EXPECT_EQ(ignored.label, "mmq.q4_K.nb");
  const MatmulChoice q6_ignored =
      choose({"FG_MMQ=1", "FG_MMQ_RAW_NB=1", "FG_FAULT=optout_q6k_ignored"}, q6, 16, &ledger);
  EXPECT_EQ(q6_ignored.path, MatmulPath::kMmqNibble);
  EXPECT_EQ(q6_ignored.label, "mmq.q6_K.nb");
  ledger.Take();
  EXPECT_EQ(choose({"FG_FAULT=gate_read_in_decode"}, q4, 1, &ledger).label, "row.q4_K");
  const std::map<std::pair<std::string, Phase>, uint64_t> reads = {{{"FG_MMQ", Phase::kDecode}, 1}};
  EXPECT_EQ(ledger.counts().gate_reads, reads);
}

TEST(MatmulPath, KernelFaultsBelongToTheirKernel) {
  const auto fault = [](const char* name, MatmulPath path, WeightPlane plane = WeightPlane::kNone) {
    return KernelFaultOf(Faults::Parse(name).value(), {path, plane, ""});
  };
  const MatmulPath generic = MatmulPath::kMmqGeneric, raw = MatmulPath::kMmqRaw,
                   nibble = MatmulPath::kMmqNibble, tiles = MatmulPath::kMmqTiles;
  const KernelFault none = KernelFault::kNone;
  for (const MatmulPath path : {nibble, tiles}) {
    EXPECT_EQ(fault("nibbles_swapped", path), KernelFault::kSwapNibbles);
    EXPECT_EQ(fault("min_dropped", path), KernelFault::kDropMin);
    EXPECT_EQ(fault("q6k_scales_swapped", path), KernelFault::kSwapHalfScales);
    EXPECT_EQ(fault("q6k_scales_swapped", path, WeightPlane::kExpanded), none);
    EXPECT_EQ(fault("q6k_coarse", path), KernelFault::kCoarseQ6K);
    EXPECT_EQ(fault("raw_tail_skipped", path), none);
  }
  EXPECT_EQ(fault("chunk_off_plane", tiles), KernelFault::kChunkOffPlane);
  EXPECT_EQ(fault("chunk_off_plane", nibble), none);
  EXPECT_EQ(fault("raw_tail_skipped", raw), KernelFault::kWrongTail);
  for (const char* name : {"nibbles_swapped", "min_dropped", "q6k_scales_swapped", "q6k_coarse"}) {
    EXPECT_EQ(fault(name, generic), none) << name;
    EXPECT_EQ(fault(name, raw), none) << name;
  }
}

}  // namespace
}  // namespace fg
