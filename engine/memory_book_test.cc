#include "engine/memory_book.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace fg {
namespace {

TEST(MemoryBook, PeakStaysWhenBytesGo) {
  MemoryBook book;
  book.Add(MemoryCategory::kKv, 100);
  book.Add(MemoryCategory::kKv, 50);
  book.Remove(MemoryCategory::kKv, 120);
  book.Add(MemoryCategory::kKv, 10);
  EXPECT_EQ(book.entry(MemoryCategory::kKv).now, 40u);
  EXPECT_EQ(book.entry(MemoryCategory::kKv).peak, 150u);
  EXPECT_FALSE(book.entry(MemoryCategory::kKv).file_backed);
  EXPECT_EQ(book.entry(MemoryCategory::kScratch).peak, 0u);
}

TEST(MemoryBook, RemovingTooMuchEndsAtZero) {
  MemoryBook book;
  book.Add(MemoryCategory::kGraph, 5);
  book.Remove(MemoryCategory::kGraph, 6);
  EXPECT_EQ(book.entry(MemoryCategory::kGraph).now, 0u);
}

TEST(MemoryBook, FileBackedIsSaidPerCategory) {
  MemoryBook book;
  book.Add(MemoryCategory::kWeights, 7, true);
  EXPECT_TRUE(book.entry(MemoryCategory::kWeights).file_backed);
  EXPECT_FALSE(book.entry(MemoryCategory::kF16Cache).file_backed);
}

TEST(MemoryBook, NamesAreThoseOfTheProtocol) {
  const char* names[kMemoryCategories] = {"weights", "planes",  "f16_cache",
                                          "kv",      "scratch", "graph"};
  for (int i = 0; i < kMemoryCategories; ++i) {
    EXPECT_STREQ(MemoryCategoryName(static_cast<MemoryCategory>(i)), names[i]);
  }
}

constexpr char kRollupText[] =
    "55d0-7ffd ---p 00000000 00:00 0                          [rollup]\n"
    "Rss:                5000 kB\n"
    "Pss:                1234 kB\n"
    "Pss_Anon:            900 kB\n"
    "Anonymous:          1200 kB\n";
constexpr char kStatusText[] = "Name:\tfg-engine\nVmPeak:\t  9000 kB\nVmHWM:\t  6000 kB\n";

TEST(SystemMemory, FileBackedIsTheResidentRest) {
  const auto memory = ParseSystemMemory(kRollupText, kStatusText);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(memory->anonymous, 1200u * 1024);
  EXPECT_EQ(memory->file_backed, 3800u * 1024);
  EXPECT_EQ(memory->peak_resident, 6000u * 1024);
}

TEST(SystemMemory, AMissingLineIsNamed) {
  EXPECT_EQ(ParseSystemMemory("Rss: 1 kB\n", kStatusText).status().message(),
            "/proc/self/smaps_rollup: no line 'Anonymous: N kB'");
  EXPECT_EQ(ParseSystemMemory("Rss: x kB\n", kStatusText).status().message(),
            "/proc/self/smaps_rollup: no line 'Rss: N kB'");
  EXPECT_EQ(ParseSystemMemory(kRollupText, "VmHWM: 5 MB\n").status().message(),
            "/proc/self/status: no line 'VmHWM: N kB'");
}

TEST(SystemMemory, TouchedMemoryShowsInThisProcess) {
  const auto before = ReadSystemMemory();
  ASSERT_TRUE(before.ok()) << before.status().message();
  constexpr size_t kBytes = 32 << 20;
  const auto block = std::make_unique<char[]>(kBytes);
  std::memset(block.get(), 1, kBytes);
  const auto after = ReadSystemMemory();
  ASSERT_TRUE(after.ok());
  EXPECT_GE(after->anonymous, before->anonymous + kBytes / 2)
      << static_cast<int>(block[kBytes / 2]);
  EXPECT_GE(after->peak_resident, after->anonymous);
  EXPECT_GT(after->file_backed, 0u);
}

}  // namespace
}  // namespace fg
