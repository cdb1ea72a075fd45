#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/testing/temp_dir.h"

namespace fg {
namespace {

std::string TempFolder() {
  const std::string folder = fg::ProcessTempDir() + "fg_file_test";
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(MakeFolders(folder).ok());
  return folder;
}

TEST(File, AtomicWriteReplacesAndLeavesNothingBeside) {
  const std::string folder = TempFolder();
  ASSERT_TRUE(WriteFileAtomic(folder + "/a", "one").ok());
  ASSERT_TRUE(WriteFileAtomic(folder + "/a", "two").ok());
  EXPECT_EQ(*ReadFile(folder + "/a"), "two");
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) entries += entry.exists();
  EXPECT_EQ(entries, 1);
}

TEST(File, WriteIntoMissingFolderNamesThePath) {
  const Status status = WriteFileAtomic("/proc/none/folder/a", "x");
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_EQ(status.message(), "/proc/none/folder/a: cannot write: No such file or directory");
}

TEST(File, MappingShowsTheBytes) {
  const std::string folder = TempFolder();
  ASSERT_TRUE(WriteFileAtomic(folder + "/a", "bytes").ok());
  auto mapped = MappedFile::Open(folder + "/a");
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ(mapped->bytes().size(), 5u);
  EXPECT_EQ(static_cast<char>(mapped->bytes()[0]), 'b');
}

TEST(File, EmptyFileMapsToNothing) {
  const std::string folder = TempFolder();
  ASSERT_TRUE(WriteFileAtomic(folder + "/empty", "").ok());
  auto mapped = MappedFile::Open(folder + "/empty");
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE(mapped->bytes().empty());
}

TEST(File, AtomicWriteLeavesWhatIsNoFileAlone) {
  const std::string folder = TempFolder();
  ASSERT_TRUE(WriteFileAtomic(folder + "/a", "one").ok());
  std::filesystem::create_symlink("a", folder + "/link");
  for (const std::string& path : {folder + "/link", folder, std::string("/dev/null")}) {
    EXPECT_EQ(WriteFileAtomic(path, "two").message(),
              path + ": is no regular file and stays as it is");
  }
  EXPECT_EQ(*ReadFile(folder + "/a"), "one");
}

TEST(File, AFifoIsRefusedAtOnce) {
  const std::string fifo = TempFolder() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(fifo).status().message(), fifo + ": not a regular file");
  EXPECT_EQ(MappedFile::Open(fifo).status().message(), fifo + ": not a regular file");
}

TEST(File, FolderIsNoFile) {
  const auto bytes = ReadFile(TempFolder());
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.status().message().find("not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace fg
