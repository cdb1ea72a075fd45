#include "engine/backend/cuda/out_of_memory.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

TEST(OutOfDeviceMemory, SaysWhatHowMuchWhatIsFreeAndWhatToSet) {
  EXPECT_EQ(OutOfDeviceMemoryText("the KV cache", 300 * kMib, 200 * kMib, 143771 * kMib,
                                  "set a smaller --context"),
            "the KV cache: 300 MiB of device memory do not fit, 200 MiB of 143771 MiB are free; "
            "set a smaller --context");
}

TEST(OutOfDeviceMemory, NeverLooksAsIfItFitted) {
  // One byte more than what is free.
  EXPECT_EQ(OutOfDeviceMemoryText("a", 7 * kMib + 1, 7 * kMib, 9 * kMib - 1, "b"),
            "a: 8 MiB of device memory do not fit, 7 MiB of 8 MiB are free; b");
  EXPECT_EQ(OutOfDeviceMemoryText("a", 1, 0, kMib, "b"),
            "a: 1 MiB of device memory do not fit, 0 MiB of 1 MiB are free; b");
}

TEST(OutOfDeviceMemory, HoldsTheLargestSizes) {
  EXPECT_EQ(OutOfDeviceMemoryText("a", UINT64_MAX, UINT64_MAX, UINT64_MAX, "b"),
            "a: 17592186044416 MiB of device memory do not fit, 17592186044415 MiB of "
            "17592186044415 MiB are free; b");
}

}  // namespace
}  // namespace fg
