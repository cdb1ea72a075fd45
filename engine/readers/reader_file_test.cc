#include "engine/readers/reader_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <sys/resource.h>
#include <csignal>

#include "base/file.h"
#include "base/testing/temp_dir.h"

namespace fg {
namespace {

std::string Path(const std::string& name) { return ProcessTempDir() + name; }

std::string ErrorOf(const std::string& path) {
  const auto file = ReaderFile::Create("FG_TRACE", path);
  if (file.ok()) return "no error";
  EXPECT_EQ(file.status().kind(), ErrorKind::kUsage);
  return file.status().message();
}

TEST(ReaderFile, AppendsAndReplacesItsEnd) {
  const std::string path = Path("file");
  ASSERT_TRUE(WriteFileAtomic(path, "what was there before").ok());
  const auto file = ReaderFile::Create("FG_TRACE", path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(*ReadFile(path), "");
  ASSERT_TRUE((*file)->Append("[1\n]").ok());
  EXPECT_EQ(*ReadFile(path), "[1\n]");
  ASSERT_TRUE((*file)->ReplaceEnd("\n]", ",2\n]").ok());
  ASSERT_TRUE((*file)->ReplaceEnd("\n]", ",3\n]").ok());
  EXPECT_EQ(*ReadFile(path), "[1,2,3\n]");
}

TEST(ReaderFile, WhatCannotBeWrittenNamesTheVariable) {
  const std::string folder = ProcessTempDir();
  EXPECT_EQ(ErrorOf(folder), "FG_TRACE='" + folder + "': is no regular file");
  EXPECT_EQ(ErrorOf(folder + "missing/t.json"),
            "FG_TRACE='" + folder + "missing/t.json': there is no folder '" + folder + "missing'");
  EXPECT_EQ(ErrorOf("/dev/full"), "FG_TRACE='/dev/full': is no regular file");
  ASSERT_EQ(::mkfifo((folder + "fifo").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf(folder + "fifo"), "FG_TRACE='" + folder + "fifo': is no regular file");
  EXPECT_EQ(CheckReaderFile("FG_TRACE", folder + "fresh").message(), "");
  EXPECT_FALSE(ReadFile(folder + "fresh").ok());  // looking makes nothing
}

TEST(ReaderFile, AFileThatIsBeingWrittenIsLeftAlone) {
  const std::string path = Path("shared");
  {
    const auto first = ReaderFile::Create("FG_TRACE", path);
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE((*first)->Append("one").ok());
    EXPECT_EQ(ErrorOf(path),
              "FG_TRACE='" + path + "': another engine is writing it; give each its own file");
    EXPECT_EQ(*ReadFile(path), "one");
  }
  EXPECT_EQ(ErrorOf(path), "no error");
}

TEST(ReaderFile, AFailedWriteLeavesTheFileAsItWas) {
  const std::string path = Path("limited");
  const auto file = ReaderFile::Create("FG_TRACE", path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("[1\n]").ok());
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 6;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = (*file)->ReplaceEnd("\n]", ",2222222\n]");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_EQ(status.message(), "FG_TRACE='" + path + "': cannot write: File too large");
  EXPECT_EQ(*ReadFile(path), "[1\n]");
  ASSERT_TRUE((*file)->ReplaceEnd("\n]", ",2\n]").ok());
  EXPECT_EQ(*ReadFile(path), "[1,2\n]");
}

}  // namespace
}  // namespace fg
