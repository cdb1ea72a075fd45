#include "gates/bundle_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "gates/testing/example_bundle.h"
#include "gates/verify.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;

class BundleWriterTest : public testing::Test {
 protected:
  BundleWriterTest() { fs::remove_all(out_); }
  ~BundleWriterTest() override { fs::remove_all(out_); }

  std::unique_ptr<BundleWriter> Create(BundleHeader header = ExampleHeader()) {
    const Matrix matrix = SmallMatrix();
    auto writer = BundleWriter::Create(out_, std::move(header), matrix, matrix.Cells("cpu"), {});
    EXPECT_TRUE(writer.ok()) << writer.status().message();
    return std::move(writer).value();
  }

  Bundle Written() {
    const auto bundle = LoadBundle(out_);
    EXPECT_TRUE(bundle.ok()) << bundle.status().message();
    return *bundle;
  }

  // Each test runs in a process of its own.
  const std::string out_ =
      fg::ProcessTempDir() + "bundle_writer_test_" + std::to_string(::getpid());
};

TEST_F(BundleWriterTest, WritesAfterEveryCell) {
  auto writer = Create();
  EXPECT_EQ(Written().pending.size(), 6u);
  EXPECT_FALSE(Written().complete);
  EXPECT_EQ(Written().Verdict().verdict, Verdict::kUnproven);
  const auto cells = SmallMatrix().Cells("cpu");
  ASSERT_TRUE(writer->Add(cells[3], Passed()).ok());
  ASSERT_TRUE(writer->Add(cells[1], Passed()).ok());
  const Bundle bundle = Written();
  EXPECT_EQ(bundle.pending.size(), 4u);
  ASSERT_EQ(bundle.cells.size(), 2u);
  EXPECT_EQ(bundle.cells[0].id, cells[1]);  // the matrix's order, not that of arrival
  EXPECT_FALSE(bundle.complete);
  const auto verification = VerifyBundle(out_);
  ASSERT_TRUE(verification.ok());
  EXPECT_EQ(
      verification->failures,
      std::vector<std::string>{"complete: the run was cut off with 4 cells without a result"});
}

TEST_F(BundleWriterTest, AWholeRunVerifies) {
  auto writer = Create();
  for (const CellId& id : SmallMatrix().Cells("cpu")) {
    CellResult result = Passed();
    result.attachments = {{"a.json", "evidence"}, {"b.bin", std::string("\0\1", 2) + id.Text()}};
    ASSERT_TRUE(writer->Add(id, result).ok());
  }
  ASSERT_TRUE(writer->AddModel("a", {{"model", {{"sha256", "x"}}}}).ok());
  const auto bundle = writer->Finish({{"prefill", "matmul", "y", 3}}, 2.5);
  ASSERT_TRUE(bundle.ok());
  EXPECT_EQ(bundle->Verdict().verdict, Verdict::kProven);
  const auto verification = VerifyBundle(out_);
  ASSERT_TRUE(verification.ok());
  EXPECT_EQ(verification->failures, std::vector<std::string>{});
  EXPECT_TRUE(verification->bundle.complete);
  EXPECT_EQ(verification->bundle.blind_spots.at(0).label, "y");
  EXPECT_EQ(verification->bundle.header.models["a"]["model"]["sha256"], "x");
  for (const char* name : {"junit.xml", "summary.md"})
    EXPECT_TRUE(fs::exists(fs::path(out_) / name)) << name;
}

TEST_F(BundleWriterTest, ResultsMayComeFromManyThreads) {
  auto writer = Create();
  std::vector<std::thread> threads;
  for (const CellId& id : SmallMatrix().Cells("cpu")) {
    threads.emplace_back([&writer, id] { EXPECT_TRUE(writer->Add(id, Passed()).ok()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(writer->Finish({}, 1)->cells.size(), 6u);
}

TEST_F(BundleWriterTest, AResultThatNobodyAwaitsIsOurMistake) {
  auto writer = Create();
  const CellId id = SmallMatrix().Cells("cpu")[0];
  ASSERT_TRUE(writer->Add(id, Passed()).ok());
  EXPECT_EQ(writer->Add(id, Passed()).message(), "the bundle awaits no result of parity/default/a");
}

TEST_F(BundleWriterTest, RemovesTheOldBundleAndNothingElse) {
  ASSERT_TRUE(fg::MakeFolders(out_ + "/raw").ok());
  for (const char* name :
       {"bundle.json", "report.html", "bundle.tar.gz", "notes.txt", "raw/notes.txt"}) {
    ASSERT_TRUE(fg::WriteFileAtomic(out_ + "/" + name, "old").ok());
  }
  ASSERT_TRUE(fg::WriteFileAtomic(out_ + "/raw/" + std::string(64, 'a'), "old").ok());
  Create();
  EXPECT_EQ(Written().pending.size(), 6u);
  for (const char* gone : {"report.html", "bundle.tar.gz"})
    EXPECT_FALSE(fs::exists(fs::path(out_) / gone)) << gone;
  EXPECT_FALSE(fs::exists(out_ + "/raw/" + std::string(64, 'a')));
  for (const char* kept : {"notes.txt", "raw/notes.txt"})
    EXPECT_TRUE(fs::exists(fs::path(out_) / kept)) << kept;
}

TEST_F(BundleWriterTest, CutsTheMachinesFoldersOut) {
  BundleHeader header = ExampleHeader();
  header.private_folders = {"/home/ann/project", "/tmp/flipgate-x"};
  header.build["flags"] = "-I/home/ann/project/base";
  auto writer = Create(header);
  CellResult result =
      CellResult::Error("/home/ann/project/build/bin/e: cannot start, see /tmp/flipgate-x");
  result.figures = {{"file", "/tmp/flipgate-x/a.bin"}};
  result.attachments = {{"a.txt", "of /home/ann/project/f and /home/ann/project2/f"}};
  ASSERT_TRUE(writer->Add(SmallMatrix().Cells("cpu")[0], result).ok());
  const Bundle bundle = Written();
  EXPECT_EQ(bundle.cells[0].reason, "build/bin/e: cannot start, see .");
  EXPECT_EQ(bundle.cells[0].figures["file"], "a.bin");
  EXPECT_EQ(bundle.header.build["flags"], "-Ibase");
  EXPECT_EQ(*fg::ReadFile(out_ + "/raw/" + bundle.cells[0].attachments[0].sha256),
            "of f and /home/ann/project2/f");
}

TEST_F(BundleWriterTest, AFolderThatCannotBeWrittenIsNamed) {
  ASSERT_TRUE(fg::WriteFileAtomic(out_, "a file in the way").ok());
  const Matrix matrix = SmallMatrix();
  const auto writer =
      BundleWriter::Create(out_ + "/sub", ExampleHeader(), matrix, matrix.Cells("cpu"), {});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().kind(), fg::ErrorKind::kIo);
  EXPECT_EQ(writer.status().message(), out_ + "/sub: cannot make the folder: Not a directory");
}

}  // namespace
}  // namespace flipgate
