#include "base/status.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return Status(ErrorKind::kBadRequest, "odd");
  return value / 2;
}

Status Quarter(int value, int* out) {
  FG_ASSIGN_OR_RETURN(const int half, Half(value));
  FG_ASSIGN_OR_RETURN(*out, Half(half));
  return Status::Ok();
}

TEST(Status, ContextGoesInFront) {
  EXPECT_EQ(Status(ErrorKind::kIo, "gone").WithContext("a.gguf").message(), "a.gguf: gone");
  EXPECT_TRUE(Status::Ok().WithContext("a").ok());
}

TEST(Status, AssignOrReturnPassesTheFailureUp) {
  int out = 0;
  EXPECT_TRUE(Quarter(8, &out).ok());
  EXPECT_EQ(out, 2);
  EXPECT_EQ(Quarter(6, &out).message(), "odd");
}

}  // namespace
}  // namespace fg
