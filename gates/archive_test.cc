#include "gates/archive.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/process.h"
#include "base/testing/temp_dir.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;

const std::string kSum(64, 'a');

class ArchiveTest : public testing::Test {
 protected:
  ArchiveTest() { fs::create_directories(folder_ + "/in"); }
  ~ArchiveTest() override { fs::remove_all(folder_); }

  std::string Shell(const std::string& script) {
    const auto run = fg::RunProcess({.argv = {"/bin/sh", "-c", script},
                                     .environment = {"PATH=/usr/bin:/bin"},
                                     .folder = folder_});
    EXPECT_TRUE(run.ok() && run->exit.ok()) << script << ": " << run->err;
    return run->out;
  }

  std::string Refused() {
    const auto files = ReadArchive(folder_ + "/a.tar.gz");
    EXPECT_FALSE(files.ok());
    const std::string prefix = folder_ + "/a.tar.gz: ";
    EXPECT_TRUE(files.status().message().starts_with(prefix)) << files.status().message();
    return files.status().message().substr(prefix.size());
  }

  const std::string folder_ = fg::ProcessTempDir() + "archive_test_" + std::to_string(::getpid());
};

const BundleFiles kFiles = {{"bundle.json", "{}"},
                            {"summary.md", std::string(1000, 'x')},
                            {"raw/" + kSum, std::string("\0\1\2", 3)}};

TEST_F(ArchiveTest, GoesBothWaysAndIsTheSameEachTime) {
  const auto archive = WriteArchive(kFiles);
  ASSERT_TRUE(archive.ok()) << archive.status().message();
  EXPECT_EQ(*archive, *WriteArchive(kFiles));
  ASSERT_TRUE(fg::WriteFileAtomic(folder_ + "/a.tar.gz", *archive).ok());
  const auto files = ReadArchive(folder_ + "/a.tar.gz");
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(*files, kFiles);
}

TEST_F(ArchiveTest, IsReadByTheProgramTar) {
  ASSERT_TRUE(fg::WriteFileAtomic(folder_ + "/a.tar.gz", *WriteArchive(kFiles)).ok());
  EXPECT_EQ(Shell("tar -tzf a.tar.gz"), "bundle.json\nraw/" + kSum + "\nsummary.md\n");
  EXPECT_EQ(Shell("tar -xzOf a.tar.gz summary.md"), std::string(1000, 'x'));
}

TEST_F(ArchiveTest, TakesTheBundlesFilesOfAFolder) {
  ASSERT_TRUE(fg::WriteFileAtomic(folder_ + "/in/bundle.json", "{}").ok());
  ASSERT_TRUE(fg::WriteFileAtomic(folder_ + "/in/notes.txt", "mine").ok());
  ASSERT_TRUE(ArchiveFolder(folder_ + "/in").ok());
  EXPECT_EQ(Shell("tar -tzf in/bundle.tar.gz"), "bundle.json\n");
  EXPECT_EQ(ArchiveFolder(folder_).message(), folder_ + "/bundle.json: No such file or directory");
}

TEST_F(ArchiveTest, RefusesPathsThatLeave) {
  Shell(
      "echo '{}' > bundle.json; echo x > x; tar -czPf a.tar.gz --format=ustar --transform "
      "'s|^x$|../x|' bundle.json x");
  EXPECT_EQ(Refused(), "'../x' is no file of a bundle");
  Shell("tar -czPf a.tar.gz --format=ustar --transform 's|^x$|/etc/x|' bundle.json x");
  EXPECT_EQ(Refused(), "'/etc/x' is no file of a bundle");
  Shell("tar -czPf a.tar.gz --format=ustar --transform 's|^x$|raw/../../x|' bundle.json x");
  EXPECT_EQ(Refused(), "'raw/../../x' is no file of a bundle");
}

TEST_F(ArchiveTest, RefusesLinksFoldersAndStrangers) {
  Shell("ln -s /etc/passwd bundle.json; tar -czf a.tar.gz --format=ustar bundle.json");
  EXPECT_EQ(Refused(), "'bundle.json' is no regular file");
  Shell("rm bundle.json; mkdir raw; tar -czf a.tar.gz --format=ustar raw");
  EXPECT_EQ(Refused(), "'raw/' is no regular file");
  Shell("echo x > setup.sh; tar -czf a.tar.gz --format=ustar setup.sh");
  EXPECT_EQ(Refused(), "'setup.sh' is no file of a bundle");
}

TEST_F(ArchiveTest, RefusesDamage) {
  Shell(
      "echo '{}' > bundle.json; tar -cf - --format=ustar bundle.json | gzip -n > a.tar.gz; cp "
      "a.tar.gz good.tar.gz");
  ASSERT_TRUE(ReadArchive(folder_ + "/a.tar.gz").ok());
  Shell("head -c 100 good.tar.gz > a.tar.gz");
  EXPECT_EQ(Refused(), "gzip: exit code 1: ");
  Shell("gzip -dc good.tar.gz | head -c 700 | gzip -n > a.tar.gz");
  EXPECT_EQ(Refused(), "cut off before its end");
  Shell("gzip -dc good.tar.gz | head -c 514 | gzip -n > a.tar.gz");
  EXPECT_EQ(Refused(), "'bundle.json' is cut off");
  Shell("gzip -dc good.tar.gz | sed 's/bundle/bindle/' | gzip -n > a.tar.gz");
  EXPECT_EQ(Refused(), "damaged member at byte 0");
  Shell("tar -cf - --format=ustar bundle.json bundle.json | gzip -n > a.tar.gz");
  EXPECT_EQ(Refused(), "'bundle.json' is no regular file");
  Shell("cp bundle.json summary.md; tar -cf - --format=ustar summary.md | gzip -n > a.tar.gz");
  EXPECT_EQ(Refused(), "holds no bundle.json");
}

TEST_F(ArchiveTest, ABombIsStoppedAtTheLimit) {
  Shell("head -c 300000000 /dev/zero | gzip -n > a.tar.gz");
  EXPECT_EQ(Refused(), "gzip: wrote more than 268435456 bytes to its standard output");
}

}  // namespace
}  // namespace flipgate
