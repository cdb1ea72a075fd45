#include "kernels/cuda/resident_layout.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cuda/resident_gather.h"
#include "kernels/cuda/resident_testing.h"

namespace fg::cuda {
namespace {

constexpr int64_t kBlocks[] = {1, 2, 3, 4, 5, 7, 8, 9, 14, 15, 16, 28, 74};

std::vector<TensorType> GatheredTypes() {
  std::vector<TensorType> types;
  for (const TensorType type : kResidentTypes) {
    if (IsGathered(type)) types.push_back(type);
  }
  return types;
}

TEST(ResidentLayout, RowsKeepTheirBytesAndAreRoundedUpTo16) {
  ASSERT_EQ(GatheredTypes().size(), 4u);
  for (const TensorType type : kResidentTypes) {
    const int64_t values = InfoOf(type).block_values;
    for (const int64_t n : kBlocks) {
      const int64_t file = RowBytes(type, n * values);
      const int64_t resident = ResidentRowBytes(type, n * values);
      if (IsGathered(type)) {
        EXPECT_EQ(resident % 16, 0) << InfoOf(type).name;
        EXPECT_TRUE(resident >= file && resident < file + 16) << InfoOf(type).name << " " << n;
      } else {
        EXPECT_EQ(resident, file) << InfoOf(type).name;
      }
    }
  }
  EXPECT_EQ(ResidentRowBytes(TensorType::kQ4_K, 256) % 16, 0);
}

TEST(ResidentLayout, TypesWithoutAKernelHaveNoBytes) {
  for (const TensorType type : {TensorType::kQ4_1, TensorType::kQ5_1, TensorType::kQ2_K,
                                TensorType::kQ3_K, TensorType::kQ5_K}) {
    EXPECT_EQ(ResidentRowBytes(type, 256), 0) << InfoOf(type).name;
  }
}

TEST(ResidentLayout, FieldsThatAreLoadedWideLieAligned) {
  for (const int64_t n : kBlocks) {
    EXPECT_EQ(RowQ5_0::H(n) % 4, 0);
    EXPECT_EQ(RowQ6_K::QH(n) % 16, 0);
    EXPECT_EQ(RowQ6_K::Scales(n) % 16, 0);
    EXPECT_EQ(RowQ4_0::D(n) % 2 + RowQ5_0::D(n) % 2 + RowQ8_0::D(n) % 2 + RowQ6_K::D(n) % 2, 0);
  }
}

TEST(ResidentLayout, GatheringTakesEveryHalfwordOnceAndPadsTheEnd) {
  for (const TensorType type : GatheredTypes()) {
    for (const int64_t n : kBlocks) {
      const int64_t values = n * InfoOf(type).block_values;
      const int64_t halves = RowBytes(type, values) / 2;
      std::vector<int> times(static_cast<size_t>(halves), 0);
      for (int64_t half = 0; half < ResidentRowBytes(type, values) / 2; ++half) {
        const int64_t source = GatherSource(type, n, half);
        if (half >= halves) {
          ASSERT_EQ(source, kPaddingSource) << InfoOf(type).name << " " << n;
          continue;
        }
        ASSERT_TRUE(source >= 0 && source < halves) << InfoOf(type).name << " at " << half;
        ++times[static_cast<size_t>(source)];
      }
      for (const int count : times) ASSERT_EQ(count, 1) << InfoOf(type).name << " " << n;
    }
  }
}

TEST(ResidentLayout, GatheredBytesAreTheFieldsInTheirOrder) {
  for (const TensorType type : GatheredTypes()) {
    for (const int64_t n : {1, 3, 14}) {
      const int64_t k = n * InfoOf(type).block_values;
      const std::vector<uint8_t> file = fg::testing::RandomBlocks(type, 1, k, 11);
      const std::vector<uint8_t> expected = ResidentOf(type, file, 1, k);
      ASSERT_EQ(static_cast<int64_t>(expected.size()), ResidentRowBytes(type, k));
      std::vector<uint8_t> gathered;
      for (size_t half = 0; half < expected.size() / 2; ++half) {
        const int64_t source = GatherSource(type, n, static_cast<int64_t>(half));
        for (int64_t i = 0; i < 2; ++i) {
          gathered.push_back(source == kPaddingSource ? 0
                                                      : file[static_cast<size_t>(2 * source + i)]);
        }
      }
      ASSERT_EQ(gathered, expected) << InfoOf(type).name << " " << n;
    }
  }
}

}  // namespace
}  // namespace fg::cuda
