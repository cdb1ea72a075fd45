#include "engine/gguf/file_sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace fg {
namespace {

class FileSinkTest : public testing::Test {
 protected:
  FileSinkTest() : folder_(fg::ProcessTempDir() + "file_sink." + std::to_string(::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~FileSinkTest() override { std::filesystem::remove_all(folder_); }

  std::ptrdiff_t Files() const {
    return std::distance(std::filesystem::directory_iterator(folder_), {});
  }

  const std::string folder_;
};

TEST_F(FileSinkTest, ReplacesOnlyOnCommit) {
  const std::string path = folder_ + "/file";
  ASSERT_TRUE(WriteFileAtomic(path, "old").ok());
  FileSink sink(path);
  ASSERT_TRUE(sink.Write("new ").ok());
  ASSERT_TRUE(sink.Write("bytes").ok());
  EXPECT_EQ(sink.written(), 9u);
  EXPECT_EQ(*ReadFile(path), "old");
  ASSERT_TRUE(sink.Commit().ok());
  EXPECT_EQ(*ReadFile(path), "new bytes");
  EXPECT_EQ(Files(), 1);
}

TEST_F(FileSinkTest, LeavesNothingWithoutCommit) {
  { ASSERT_TRUE(FileSink(folder_ + "/file").Write("abandoned").ok()); }
  EXPECT_EQ(Files(), 0);
}

TEST_F(FileSinkTest, FailuresNameThePathAndStay) {
  const std::string path = folder_ + "/missing/file";
  FileSink sink(path);
  const std::string expected = path + ": cannot write: No such file or directory";
  EXPECT_EQ(sink.Write("x").message(), expected);
  EXPECT_EQ(sink.Commit().message(), expected);
  EXPECT_EQ(sink.Commit().kind(), ErrorKind::kIo);
  EXPECT_EQ(sink.written(), 0u);
}

TEST_F(FileSinkTest, WhatIsNoFileIsNotReplaced) {
  const std::string path = folder_ + "/taken";
  std::filesystem::create_directories(path);
  for (const std::string& target : {path, std::string("/dev/null")}) {
    FileSink sink(target);
    const std::string expected = target + ": is no regular file and stays as it is";
    EXPECT_EQ(sink.Write("x").message(), expected);
    EXPECT_EQ(sink.Commit().message(), expected);
  }
  EXPECT_EQ(Files(), 1);
}

}  // namespace
}  // namespace fg
