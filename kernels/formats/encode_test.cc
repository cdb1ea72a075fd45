#include "kernels/formats/encode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "kernels/formats/blocks.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

constexpr TensorType kQuantized[] = {TensorType::kQ4_0, TensorType::kQ5_0, TensorType::kQ8_0,
                                     TensorType::kQ4_K, TensorType::kQ6_K};

std::vector<float> Gaussian(size_t count, uint32_t seed, float sigma = 1, float mean = 0) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(mean, sigma);
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

std::vector<uint8_t> Encode(TensorType type, const std::vector<float>& x) {
  const int64_t values = static_cast<int64_t>(x.size());
  const size_t bytes = static_cast<size_t>(RowBytes(type, values));
  std::vector<uint8_t> blocks(bytes + 1, 0xA5);
  EXPECT_TRUE(EncodeRow(type, x.data(), values, blocks.data()));
  EXPECT_EQ(blocks.back(), 0xA5) << "written behind the row";
  blocks.pop_back();
  return blocks;
}

std::vector<float> RoundTrip(TensorType type, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const std::vector<uint8_t> blocks = Encode(type, x);
  EXPECT_TRUE(DequantizeRow(type, blocks.data(), static_cast<int64_t>(x.size()), y.data()));
  return y;
}

double Rmse(const std::vector<float>& x, const std::vector<float>& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

TEST(Encode, Floats) {
  const std::vector<float> x = {1.0f, -2.5f, 65504.0f, 1e-7f, -0.0f};
  EXPECT_EQ(RoundTrip(TensorType::kF32, x), x);
  const std::vector<float> half = RoundTrip(TensorType::kF16, x);
  const std::vector<float> brain = RoundTrip(TensorType::kBF16, x);
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(half[i], F16ToF32(F32ToF16(x[i])));
    EXPECT_EQ(brain[i], BF16ToF32(F32ToBF16(x[i])));
  }
}

// The code at the lower end of a symmetric format's range.
float EndOf(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return -8;
    case TensorType::kQ5_0:
      return -16;
    case TensorType::kQ8_0:
      return -128;
    default:
      return -32;
  }
}

// Nearest codes under the plainest scales, kept in f32: what the encoders must beat although theirs
// are rounded to f16 and to 6 or 8 bits.
// q8_0, the plain form itself, may lose by its f16 d.
std::vector<float> PlainRounding(TensorType type, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  const size_t group = type == TensorType::kQ6_K ? 16 : 32;
  for (size_t at = 0; at < x.size(); at += group) {
    float low = x[at], high = x[at], extreme = x[at];
    for (size_t i = at; i < at + group; ++i) {
      low = std::fmin(low, x[i]);
      high = std::fmax(high, x[i]);
      if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
    }
    for (size_t i = at; i < at + group; ++i) {
      if (type == TensorType::kQ4_K) {
        const float scale = (high - low) / 15;
        y[i] = std::rint((x[i] - low) / scale) * scale + low;
      } else {
        const float end = EndOf(type);
        const float scale = extreme / end;
        y[i] = std::fmin(std::rint(x[i] / scale), -end - 1) * scale;
      }
    }
  }
  return y;
}

// Root mean square error as a share of a Gaussian's sigma. The bounds lie 2 % over what the
// encoders reach; of_plain is the share of the plain rounding's error.
TEST(Encode, ErrorOnGaussianRows) {
  const struct {
    TensorType type;
    double bound;
    double of_plain;
  } rows[] = {{TensorType::kQ4_0, 0.0835, 0.96},
              {TensorType::kQ5_0, 0.0411, 0.96},
              {TensorType::kQ8_0, 0.00546, 1.01},
              {TensorType::kQ4_K, 0.0721, 0.92},
              {TensorType::kQ6_K, 0.0172, 0.91}};
  for (const auto& row : rows) {
    for (const float sigma : {0.02f, 1.0f, 50.0f}) {
      const std::vector<float> x = Gaussian(256 * 400, 3, sigma);
      const double error = Rmse(x, RoundTrip(row.type, x)) / sigma;
      const double plain = Rmse(x, PlainRounding(row.type, x)) / sigma;
      EXPECT_LT(error, row.bound) << InfoOf(row.type).name << " at " << sigma;
      EXPECT_LT(error / plain, row.of_plain) << InfoOf(row.type).name << " at " << sigma;
    }
  }
}

// Rows that lie off zero are what q4_K's min is for.
TEST(Encode, MinsCarryAnOffset) {
  const std::vector<float> below = Gaussian(256 * 50, 4, 0.1f, -3);
  EXPECT_LT(Rmse(below, RoundTrip(TensorType::kQ4_K, below)), 0.025);
  EXPECT_GT(Rmse(below, RoundTrip(TensorType::kQ4_0, below)), 0.08);
}

// Values that a block can hold come back exactly: each group has both ends of the codes, and the
// extreme scale and min of the super-block are those that set d and dmin.
TEST(Encode, ExactValuesStay) {
  std::mt19937 engine(5);
  const auto code = [&](int i, int ends_low, int ends_high) {
    const int count = ends_high - ends_low + 1;
    if (i == 0) return ends_low;
    if (i == 1) return ends_high;
    return ends_low + static_cast<int>(engine() % static_cast<unsigned>(count));
  };
  for (int round = 0; round < 20; ++round) {
    const float d = F16ToF32(F32ToF16(0.01f * static_cast<float>(round + 1)));
    const float dmin = F16ToF32(F32ToF16(0.007f * static_cast<float>(20 - round)));
    std::vector<float> q4_0(32), q5_0(32), q8_0(32), q4_k(256), q6_k(256);
    for (int i = 0; i < 32; ++i) {
      q4_0[i] = d * static_cast<float>(code(i, -8, 7));
      q5_0[i] = d * static_cast<float>(code(i, -16, 15));
      q8_0[i] = d * static_cast<float>(code(i, -127, 127));
    }
    for (int j = 0; j < 8; ++j) {
      const int scale = j == round % 8 ? 63 : 20 + static_cast<int>(engine() % 40);
      const int min = j == 7 - round % 8 ? 63 : 10 + static_cast<int>(engine() % 50);
      for (int i = 0; i < 32; ++i) {
        const float n = static_cast<float>(code(i, 0, 15));
        q4_k[32 * j + i] = d * static_cast<float>(scale) * n - dmin * static_cast<float>(min);
      }
    }
    for (int g = 0; g < 16; ++g) {
      const int scale = g == round % 16 ? -128 : 40 + static_cast<int>(engine() % 80);
      for (int i = 0; i < 16; ++i) {
        q6_k[16 * g + i] = d * static_cast<float>(scale * code(i, -32, 31));
      }
    }
    EXPECT_EQ(RoundTrip(TensorType::kQ4_0, q4_0), q4_0) << round;
    EXPECT_EQ(RoundTrip(TensorType::kQ5_0, q5_0), q5_0) << round;
    EXPECT_EQ(RoundTrip(TensorType::kQ8_0, q8_0), q8_0) << round;
    EXPECT_EQ(RoundTrip(TensorType::kQ4_K, q4_k), q4_k) << round;
    EXPECT_EQ(RoundTrip(TensorType::kQ6_K, q6_k), q6_k) << round;
  }
}

TEST(Encode, ZerosStayZero) {
  const std::vector<float> zeros(512, 0.0f);
  for (const TensorType type : kQuantized) EXPECT_EQ(RoundTrip(type, zeros), zeros);
}

// One value in a field of zeros, and equal values: no division by nothing, and the value is kept.
TEST(Encode, LonelyAndEqualValues) {
  for (const TensorType type : kQuantized) {
    for (const float value : {3.0f, -3.0f}) {
      std::vector<float> lonely(256, 0.0f);
      lonely[77] = value;
      const std::vector<float> y = RoundTrip(type, lonely);
      for (size_t i = 0; i < y.size(); ++i) {
        EXPECT_NEAR(y[i], lonely[i], 0.002) << InfoOf(type).name << " value " << i;
      }
      const std::vector<float> equal(256, value);
      EXPECT_LT(Rmse(equal, RoundTrip(type, equal)), 0.002) << InfoOf(type).name;
    }
  }
}

// From the smallest f32 to the largest: what decodes is finite, never larger than the row by more
// than a step, and nothing traps. d saturates at f16's ends.
TEST(Encode, HugeAndTinyRows) {
  for (const TensorType type : kQuantized) {
    for (int exponent = -148; exponent <= 126; exponent += 2) {
      const float size = std::ldexp(1.0f, exponent);
      std::vector<float> x = Gaussian(256, 6, 0.25f);
      float largest = 0;
      for (float& v : x) {
        v = std::fmin(std::fmax(v, -1.0f), 1.0f) * size;
        largest = std::fmax(largest, std::fabs(v));
      }
      const std::vector<float> y = RoundTrip(type, x);
      for (const float v : y) {
        ASSERT_TRUE(std::isfinite(v)) << InfoOf(type).name << " 2^" << exponent;
        ASSERT_LE(std::fabs(v), 1.1f * largest) << InfoOf(type).name << " 2^" << exponent;
      }
      if (exponent >= -10 && exponent <= 16) {
        ASSERT_LT(Rmse(x, y), 0.05 * size) << InfoOf(type).name << " 2^" << exponent;
      }
    }
  }
}

// The same bytes on every machine: inputs that no library's distribution shapes, sums pinned.
TEST(Encode, BytesArePinned) {
  std::mt19937 engine(7);
  std::vector<float> x(256 * 8);
  for (float& v : x) v = static_cast<float>(static_cast<int32_t>(engine())) * 0x1p-31f;
  const auto sum = [&](TensorType type) {
    const std::vector<uint8_t> bytes = Encode(type, x);
    return Sha256Hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  };
  EXPECT_EQ(sum(TensorType::kQ4_0),
            "f5008c13176187eca27b58fbf95835997b3601863533dfd587444934cec1ded8");
  EXPECT_EQ(sum(TensorType::kQ5_0),
            "c4fd64c680c5736e1700f72d48745a8e7c69e89db449bc5dab2a34b05f986748");
  EXPECT_EQ(sum(TensorType::kQ8_0),
            "91c54090fa90505d9fb5c4116b535e8d4a30d57090af2963820af2d4d28677b5");
  EXPECT_EQ(sum(TensorType::kQ4_K),
            "a0000ea7a22bcd4836ed8c052e7cbdb94accb3b7c1b3e0acf3ccd609a07792bf");
  EXPECT_EQ(sum(TensorType::kQ6_K),
            "1dc81b58ac2f4020c504222ae9f9b02c9efeef49c3530c34dd818c70a1a605dd");
}

TEST(Encode, OtherTypesAreLeftAlone) {
  const std::vector<float> x(256, 1.0f);
  for (const uint32_t id : {3u, 7u, 10u, 11u, 13u}) {
    uint8_t out[512] = {};
    EXPECT_FALSE(EncodeRow(static_cast<TensorType>(id), x.data(), 256, out)) << id;
    for (const uint8_t byte : out) ASSERT_EQ(byte, 0);
  }
}

}  // namespace
}  // namespace fg
