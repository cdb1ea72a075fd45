// A packed folder: its stamp, what was changed in it, and what the hashes and the snapshot are
// there.
#include "promotion/pack_stamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/sha256.h"
#include "base/testing/temp_dir.h"
#include "promotion/hashes.h"
#include "promotion/snapshot.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PackStampTest : public testing::Test {
 protected:
  PackStampTest() {
    fs::remove_all(root_);
    Write("flipgate.yaml", "project");
    Write("bin/engine", "program");
    Write("gates/matrix.yaml", "cells");
    Write(PackedSnapshotPath("cpu"), "old program");
    stamp_ = {.commit = std::string(40, 'c'),
              .dirty = false,
              .engine = std::string(64, 'e'),
              .suite = std::string(64, '5'),
              .recipe = std::string(64, 'f'),
              .defaults = {{"cpu", std::string(64, 'd')}},
              .snapshots = {{"cpu", Packed("")}, {"sm_90", Packed("why not")}},
              .program = "bin/engine",
              .files = SumFiles(root_).value()};
    WriteStamp();
    project_.root = root_;
  }
  ~PackStampTest() override { fs::remove_all(root_); }

  static PackedSnapshot Packed(const std::string& absent) {
    PackedSnapshot packed;
    packed.record = {.engine = std::string(64, '1'),
                     .defaults = std::string(64, '2'),
                     .commit = std::string(40, '3'),
                     .program_sha256 = fg::Sha256Hex(std::string_view("old program")),
                     .absent = absent};
    packed.program = absent.empty() ? "snapshots/cpu/run" : "";
    return packed;
  }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + name).parent_path());
    ASSERT_TRUE(fg::WriteFileAtomic(root_ + "/" + name, text).ok());
  }
  void WriteStamp() { Write(kStampName, PackStampText(stamp_)); }
  std::vector<std::string> Changed() { return ChangedFiles(root_, stamp_).value(); }

  const std::string root_ = fg::ProcessTempDir() + "pack_stamp_test";
  PackStamp stamp_;
  Project project_;
};

TEST_F(PackStampTest, WhatIsWrittenIsRead) {
  const auto read = FindPackStamp(root_).value();
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(PackStampText(*read), PackStampText(stamp_));
  EXPECT_EQ(read->files.size(), 4u);  // the stamp books all but itself
  EXPECT_EQ(read->files.at("gates/matrix.yaml"), fg::Sha256Hex(std::string_view("cells")));
}

TEST_F(PackStampTest, ACheckoutHasNone) {
  fs::create_directories(root_ + "/.git");
  EXPECT_FALSE(FindPackStamp(root_).value().has_value());
  EXPECT_FALSE(FindPackStamp("/no/such/folder").value().has_value());
}

TEST_F(PackStampTest, AStampThatCannotBeMeantNamesTheMember) {
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = PackStampText(stamp_);
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return ParsePackStamp(text).status().message();
  };
  EXPECT_EQ(refused("\"version\": 1", "\"version\": 2"),
            "stamp.json.version: this program reads version 1");
  EXPECT_EQ(refused("\"dirty\": false", "\"dirty\": 0"),
            "stamp.json.dirty: must be true or false, is a whole number");
  EXPECT_THAT(refused("\"dirty\"", "\"dirt\""), HasSubstr("stamp.json.dirty: is missing"));
  EXPECT_EQ(refused("\"bin/engine\": \"", "\"bin/engine\": 1, \"a\": \""),
            "stamp.json.files.bin/engine: must be a string");
  EXPECT_THAT(refused("\"absent\"", "\"absend\""),
              HasSubstr("stamp.json: snapshots.cpu.absent: is missing"));
  Write(kStampName, "{");
  EXPECT_FALSE(FindPackStamp(root_).ok());
}

TEST_F(PackStampTest, EveryChangeIsNamed) {
  EXPECT_THAT(Changed(), IsEmpty());
  Write("out/latest/bundle.json", "a result is no change");
  Write("gates/__pycache__/x.pyc", "nor is what Python leaves");
  EXPECT_THAT(Changed(), IsEmpty());
  Write("gates/matrix.yaml", "Cells");
  Write("gates/waivers.yaml", "one more");
  fs::remove(root_ + "/bin/engine");
  EXPECT_THAT(Changed(),
              ElementsAre("bin/engine (gone)", "gates/matrix.yaml", "gates/waivers.yaml (added)"));
  EXPECT_EQ(ChangedNote(Changed()),
            "this folder is not as it was packed (3 files: bin/engine (gone), gates/matrix.yaml, "
            "gates/waivers.yaml (added)): its evidence counts as dirty");
  EXPECT_EQ(
      ChangedNote({"a", "b", "c", "d", "e", "f"}),
      "this folder is not as it was packed (6 files: a, b, c, d, e, ...): its evidence counts "
      "as dirty");
}

TEST_F(PackStampTest, ALinkIsRefused) {
  fs::create_symlink("engine", root_ + "/bin/link");
  EXPECT_EQ(SumFiles(root_).status().message(),
            "bin/link: is a link, which a packed folder must not hold");
}

TEST_F(PackStampTest, HashesAreThoseOfTheStamp) {
  const auto head = HashHead(project_, "cpu").value();
  EXPECT_EQ(head.engine, stamp_.engine);
  EXPECT_EQ(head.defaults, stamp_.defaults["cpu"]);
  EXPECT_EQ(head.suite, stamp_.suite);
  EXPECT_EQ(head.recipe, stamp_.recipe);
  fs::remove(root_ + "/" + kStampName);
  EXPECT_FALSE(HashHead(project_, "cpu").ok());  // then it is git that would know
}

TEST_F(PackStampTest, TheSnapshotIsTheOneThatWasTaken) {
  const auto obtain = [&](const std::string& name) {
    return ObtainSnapshot(project_, name, [](const std::string&) {});
  };
  EXPECT_EQ(obtain("cpu")->program, root_ + "/snapshots/cpu/run");
  EXPECT_EQ(obtain("cpu")->record.commit, std::string(40, '3'));
  EXPECT_TRUE(InspectSnapshot(project_, "cpu").kept);
  EXPECT_EQ(obtain("sm_90")->record.absent, "why not");
  EXPECT_EQ(obtain("sm_90")->program, "");
  EXPECT_EQ(obtain("sm_80")->record.absent, "flipgate.yaml names no snapshot for class 'sm_80'");
  Write(PackedSnapshotPath("cpu"), "another program");
  const std::string refused =
      "snapshots/cpu/engine: is not the program that was packed; unpack the folder again";
  EXPECT_EQ(obtain("cpu").status().message(), refused);
  EXPECT_EQ(InspectSnapshot(project_, "cpu").missing, refused);
}

}  // namespace
}  // namespace flipgate
