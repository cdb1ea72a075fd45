#include "base/sha256.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

// The vectors of FIPS 180-4's examples.
TEST(Sha256, KnownVectors) {
  EXPECT_EQ(Sha256Hex(std::string_view("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string_view("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, PiecesEqualTheWhole) {
  Sha256 sum;
  sum.Update("a");
  sum.Update("bc");
  EXPECT_EQ(sum.Hex(), Sha256Hex(std::string_view("abc")));
}

TEST(Sha256, MissingFileIsNamed) {
  const auto sum = Sha256File("/proc/none/x");
  ASSERT_FALSE(sum.ok());
  EXPECT_EQ(sum.status().message(), "/proc/none/x: No such file or directory");
}

}  // namespace
}  // namespace fg
