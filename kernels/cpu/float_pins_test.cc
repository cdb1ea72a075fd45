// The float kernels against fixtures/pins/ops: bits that a numpy model of docs/arithmetic.md
// computed, apart from any C++ here. fixtures/oracle/ makes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/exp.h"
#include "kernels/cpu/float_testing.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/rms_norm.h"
#include "kernels/cpu/rope.h"
#include "kernels/cpu/swiglu.h"

namespace fg {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kPins = std::filesystem::path(FG_SOURCE_DIR) / "fixtures/pins/ops";

// One case of the index with its files. Shapes of activations begin with the rows; those of matmul
// weights are [k, out], as GGUF writes them.
class Case {
 public:
  explicit Case(const Json& json) : json_(json) {}

  std::string name() const { return json_.at("name"); }
  double param(const char* key) const { return json_.at("params").at(key); }
  bool Has(const char* input) const { return json_.at("inputs").contains(input); }
  int64_t Dim(const char* input, size_t i) const {
    return json_.at("inputs").at(input).at("shape").at(i);
  }
  template <typename T>
  std::vector<T> Input(const char* key) const {
    return Read<T>(json_.at("inputs").at(key));
  }
  bool Expects(const char* key) const { return json_.at("expect").contains(key); }
  std::vector<float> Expected(const char* key) const {
    return Read<float>(json_.at("expect").at(key));
  }

 private:
  template <typename T>
  static std::vector<T> Read(const Json& entry) {
    size_t count = 1;
    for (const size_t dim : entry.at("shape")) count *= dim;
    const std::filesystem::path path = kPins / entry.at("file").get<std::string>();
    EXPECT_EQ(std::filesystem::file_size(path), count * sizeof(T)) << path;
    std::vector<T> values(count);
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(count * sizeof(T)));
    return values;
  }

  Json json_;
};

// The cases of one operation; none is a failure.
std::vector<Case> Cases(const std::string& op) {
  std::ifstream stream(kPins / "index.json");
  const Json index = Json::parse(stream);
  std::vector<Case> cases;
  for (const Json& json : index.at("cases")) {
    if (json.at("op") == op) cases.emplace_back(json);
  }
  EXPECT_GE(cases.size(), 2u) << op;
  return cases;
}

// Runs `compute`(level, case) on each case of `op` and each level and holds it against "y".
template <typename Compute>
void ExpectPinned(const std::string& op, Compute compute) {
  for (const Case& pin : Cases(op)) {
    const std::vector<float> expected = pin.Expected("y");
    for (const CpuLevel level : SupportedCpuLevels()) {
      EXPECT_EQ(FirstDifference(expected, compute(level, pin)), "")
          << pin.name() << " " << CpuLevelName(level);
    }
  }
}

TEST(FloatPins, Exp) {
  ExpectPinned("exp", [](CpuLevel level, const Case& pin) {
    std::vector<float> x = pin.Input<float>("x");
    ExpRow(level, x.data(), static_cast<int64_t>(x.size()), 0.0f, x.data());
    return x;
  });
}

TEST(FloatPins, RmsNorm) {
  ExpectPinned("rms_norm", [](CpuLevel level, const Case& pin) {
    const std::vector<float> x = pin.Input<float>("x"), w = pin.Input<float>("w");
    const int64_t rows = pin.Dim("x", 0), n = pin.Dim("x", 1);
    std::vector<float> y(x.size());
    RmsNorm(level, x.data(), n, w.data(), rows, n, static_cast<float>(pin.param("eps")), y.data(),
            n);
    return y;
  });
}

TEST(FloatPins, Swiglu) {
  ExpectPinned("swiglu", [](CpuLevel level, const Case& pin) {
    const std::vector<float> g = pin.Input<float>("g"), u = pin.Input<float>("u");
    std::vector<float> y(g.size());
    Swiglu(level, g.data(), u.data(), static_cast<int64_t>(g.size()), y.data());
    return y;
  });
}

TEST(FloatPins, Rope) {
  ExpectPinned("rope", [](CpuLevel level, const Case& pin) {
    std::vector<float> x = pin.Input<float>("x");
    const std::vector<int32_t> positions = pin.Input<int32_t>("positions");
    const int64_t heads = pin.Dim("x", 1), head_dim = pin.Dim("x", 2);
    const int32_t last = *std::max_element(positions.begin(), positions.end());
    const RopeTable table = MakeRopeTable(last + 1, head_dim, pin.param("base"));
    Rope(level, x.data(), heads * head_dim, pin.Dim("x", 0), heads, head_dim, positions.data(),
         table);
    return x;
  });
}

TEST(FloatPins, Attention) {
  ExpectPinned("attention", [](CpuLevel level, const Case& pin) {
    const std::vector<float> q = pin.Input<float>("q");
    const std::vector<uint16_t> keys = pin.Input<uint16_t>("keys");
    const std::vector<uint16_t> values = pin.Input<uint16_t>("values");
    const std::vector<int32_t> positions = pin.Input<int32_t>("positions");
    const int64_t rows = pin.Dim("q", 0), heads = pin.Dim("q", 1), head_dim = pin.Dim("q", 2);
    std::vector<float> y(q.size()),
        scratch(static_cast<size_t>(AttentionScratch(pin.Dim("keys", 0))));
    const AttentionArgs args{.q = q.data(),
                             .ldq = heads * head_dim,
                             .keys = keys.data(),
                             .values = values.data(),
                             .positions = positions.data(),
                             .rows = rows,
                             .heads = heads,
                             .kv_heads = pin.Dim("keys", 1),
                             .head_dim = head_dim,
                             .y = y.data(),
                             .ldy = heads * head_dim};
    Attention(level, args, {0, rows * heads}, scratch.data());
    return y;
  });
}

std::vector<float> PinnedGemm(CpuLevel level, const Case& pin) {
  const std::vector<float> x = pin.Input<float>("x");
  const int64_t rows = pin.Dim("x", 0), k = pin.Dim("w", 0), out = pin.Dim("w", 1);
  const std::vector<float> bias = pin.Has("bias") ? pin.Input<float>("bias") : std::vector<float>();
  const float* b = bias.empty() ? nullptr : bias.data();
  std::vector<float> y(static_cast<size_t>(rows * out));
  if (pin.Expects("y_f32")) {
    const std::vector<float> w = pin.Input<float>("w");
    GemmF32(level, w.data(), x.data(), k, rows, k, b, {0, out}, y.data(), out);
    return y;
  }
  const std::vector<uint16_t> w = pin.Input<uint16_t>("w");
  std::vector<uint16_t> a(static_cast<size_t>(rows * k));
  std::vector<int32_t> exponents(static_cast<size_t>(rows));
  RoundRowsToF16(level, x.data(), k, rows, k, a.data(), exponents.data());
  GemmF16(level, w.data(), a.data(), exponents.data(), rows, k, b, {0, out}, y.data(), out);
  return y;
}

// Of the products with 16 rows or more, those of f16 and f32 weights.
TEST(FloatPins, Gemm) {
  int compared = 0;
  for (const Case& pin : Cases("matmul")) {
    const bool f16 = pin.name().starts_with("matmul.f16.") && pin.Expects("y_f16");
    if (!f16 && !pin.Expects("y_f32")) continue;
    const std::vector<float> expected = pin.Expected(f16 ? "y_f16" : "y_f32");
    for (const CpuLevel level : SupportedCpuLevels()) {
      EXPECT_EQ(FirstDifference(expected, PinnedGemm(level, pin)), "")
          << pin.name() << " " << CpuLevelName(level);
      ++compared;
    }
  }
  EXPECT_GE(compared, 8);
}

}  // namespace
}  // namespace fg
