// Random damage: whatever the bytes, the reader answers, and what it accepts lies inside them.
// The sanitizers' build turns a read outside into a failure.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "engine/gguf/gguf.h"
#include "engine/gguf/gguf_testing.h"

namespace fg {
namespace {

// A copy that ends where its allocation ends, so that a read behind it is seen.
struct TightCopy {
  explicit TightCopy(std::string_view text)
      : size(text.size()), data(std::make_unique<std::byte[]>(text.size())) {
    if (size != 0) std::memcpy(data.get(), text.data(), size);
  }
  std::span<const std::byte> bytes() const { return {data.get(), size}; }

  size_t size;
  std::unique_ptr<std::byte[]> data;
};

// Reads every byte that an accepted file points to.
void ExpectInside(const GgufFile& file, std::span<const std::byte> bytes, const std::string& what) {
  unsigned sum = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    ASSERT_GE(tensor.data, bytes.data()) << what;
    const uint64_t begin = static_cast<uint64_t>(tensor.data - bytes.data());
    ASSERT_LE(begin, bytes.size()) << what;
    ASSERT_LE(tensor.bytes, bytes.size() - begin) << what;
    ASSERT_GT(tensor.bytes, 0u) << what;
    ASSERT_GT(tensor.values(), 0u) << what;
    for (uint64_t i = 0; i < tensor.bytes; ++i) sum += static_cast<unsigned>(tensor.data[i]);
  }
  // The sum is used, so that the reads above are made.
  ASSERT_NE(sum, ~0u) << what;
}

TEST(GgufMutation, EveryTruncationIsRefusedUpToTheLastTensorsEnd) {
  const std::string whole = SampleGguf();
  const Result<GgufFile> file = GgufFile::Parse(AsBytes(whole));
  ASSERT_TRUE(file.ok());
  const GgufTensor& last = file->tensors().back();
  const size_t end = static_cast<size_t>(last.data - AsBytes(whole).data()) + last.bytes;
  ASSERT_LE(end, whole.size());
  for (size_t size = 0; size <= whole.size(); ++size) {
    const TightCopy copy(std::string_view(whole).substr(0, size));
    const Result<GgufFile> cut = GgufFile::Parse(copy.bytes());
    ASSERT_EQ(cut.ok(), size >= end) << size << ": " << cut.status().message();
    if (cut.ok() || size == 0) continue;
    const std::string& message = cut.status().message();
    ASSERT_TRUE(message.starts_with("truncated at byte ") || message.ends_with("or damaged"))
        << size << ": " << message;
  }
}

TEST(GgufMutation, RandomDamageIsRefusedOrHarmless) {
  const std::string whole = SampleGguf();
  const size_t head = whole.size() - 1200;  // most of the damage goes to keys and table
  std::mt19937 random(20260401);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < flips; ++i) {
      const size_t at = random() % (random() % 8 == 0 ? whole.size() : head);
      // Bits, extreme bytes and whole extreme numbers: the last reach the overflow checks.
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
          break;
        case 1:
          bytes[at] = static_cast<char>(random());
          break;
        case 2:
          bytes[at] = random() % 2 ? '\xff' : '\0';
          break;
        default:
          bytes.replace(at, 8, 8, random() % 2 ? '\xff' : '\0');
      }
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const TightCopy copy(bytes);
    const Result<GgufFile> file = GgufFile::Parse(copy.bytes());
    ++(file.ok() ? accepted : refused);
    if (file.ok()) {
      ASSERT_NO_FATAL_FAILURE(ExpectInside(*file, copy.bytes(), "round " + std::to_string(round)));
    } else {
      ASSERT_EQ(file.status().kind(), ErrorKind::kBadModel) << round;
      ASSERT_FALSE(file.status().message().empty()) << round;
    }
  }
  // Both sides were reached, else the damage was too coarse or too fine to test anything.
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 5000);
}

}  // namespace
}  // namespace fg
