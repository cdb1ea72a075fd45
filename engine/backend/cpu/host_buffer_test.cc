#include "engine/backend/cpu/host_buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

namespace fg {
namespace {

uint64_t Page() { return static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }

TEST(HostBuffer, BooksWholePagesAsLongAsItLives) {
  MemoryBook memory;
  {
    auto buffer = HostBuffer::Allocate(Page() + 1, MemoryCategory::kKv, &memory, "a test");
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->bytes(), 2 * Page());
    EXPECT_EQ(memory.entry(MemoryCategory::kKv).now, 2 * Page());
    HostBuffer moved = std::move(*buffer);
    EXPECT_EQ(buffer->data(), nullptr);
    EXPECT_EQ(memory.entry(MemoryCategory::kKv).now, 2 * Page());
    HostBuffer other = HostBuffer::Allocate(1, MemoryCategory::kKv, &memory, "a test").value();
    other = std::move(moved);  // gives its own page back
    EXPECT_EQ(memory.entry(MemoryCategory::kKv).now, 2 * Page());
  }
  EXPECT_EQ(memory.entry(MemoryCategory::kKv).now, 0u);
  EXPECT_EQ(memory.entry(MemoryCategory::kKv).peak, 3 * Page());
}

TEST(HostBuffer, BooksToTheByteWhereItIsAskedTo) {
  MemoryBook memory;
  {
    auto buffer = HostBuffer::AllocateExact(Page() + 1, MemoryCategory::kPlanes, &memory, "a test");
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(buffer->bytes(), 2 * Page());
    EXPECT_EQ(memory.entry(MemoryCategory::kPlanes).now, Page() + 1);
    const HostBuffer moved = std::move(*buffer);
    EXPECT_EQ(memory.entry(MemoryCategory::kPlanes).now, Page() + 1);
  }
  EXPECT_EQ(memory.entry(MemoryCategory::kPlanes).now, 0u);
}

TEST(HostBuffer, HoldsNanUntilItIsWritten) {
  MemoryBook memory;
  auto buffer = HostBuffer::Allocate(4096, MemoryCategory::kScratch, &memory, "a test");
  ASSERT_TRUE(buffer.ok());
  for (int i = 0; i < 1024; ++i) EXPECT_TRUE(std::isnan(buffer->as<float>()[i]));
}

TEST(HostBuffer, NothingTakesNothing) {
  MemoryBook memory;
  auto buffer = HostBuffer::Allocate(0, MemoryCategory::kScratch, &memory, "a test");
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_EQ(memory.entry(MemoryCategory::kScratch).peak, 0u);
}

TEST(HostBuffer, SaysWhatDidNotFit) {
  MemoryBook memory;
  for (const uint64_t bytes : {uint64_t{1} << 62, ~uint64_t{0}}) {
    const auto buffer = HostBuffer::Allocate(bytes, MemoryCategory::kKv, &memory, "a KV cache");
    EXPECT_EQ(buffer.status().kind(), ErrorKind::kOutOfMemory);
    EXPECT_EQ(buffer.status().message(),
              "cannot take " + std::to_string(bytes) + " bytes for a KV cache");
  }
  EXPECT_EQ(memory.entry(MemoryCategory::kKv).peak, 0u);
}

}  // namespace
}  // namespace fg
