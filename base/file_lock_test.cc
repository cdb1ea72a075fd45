#include "base/file_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/testing/temp_dir.h"

namespace fg {
namespace {

std::string Folder() {
  const std::string folder = fg::ProcessTempDir() + "fg_file_lock_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(FileLock, AFolderIsHeldOnce) {
  const std::string folder = Folder();
  {
    const auto first = FileLock::TryTake(folder);
    ASSERT_TRUE(first.ok()) << first.status().message();
    const auto second = FileLock::TryTake(folder);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.status().kind(), ErrorKind::kRefused);
    EXPECT_EQ(second.status().message(), folder + ": another process holds it");
  }
  EXPECT_TRUE(FileLock::TryTake(folder).ok());
}

TEST(FileLock, AMissingFileIsMade) {
  const std::string path = Folder() + "/lock";
  ASSERT_TRUE(FileLock::Take(path).ok());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(FileLock, AMissingFolderIsNamed) {
  const auto lock = FileLock::Take("/proc/none/folder/lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.status().message(),
            "/proc/none/folder/lock: cannot lock: No such file or directory");
}

}  // namespace
}  // namespace fg
