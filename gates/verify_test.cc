#include "gates/verify.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "gates/archive.h"
#include "gates/testing/example_bundle.h"

namespace flipgate {
namespace {

namespace fs = std::filesystem;
using fg::Json;
using Failures = std::vector<std::string>;

BundleFiles FilesOf(const Bundle& bundle) {
  BundleFiles files = {{"bundle.json", BundleToJson(bundle).dump(1)}};
  for (const BundleCell& cell : bundle.cells) {
    for (const AttachmentRecord& record : cell.attachments)
      files["raw/" + record.sha256] = "evidence";
  }
  return files;
}

// Failures after a change of the bundle, whose sum and derived values are made anew.
Failures AfterChange(const std::function<void(Bundle*)>& change) {
  Bundle bundle = ExampleBundle();
  change(&bundle);
  return VerifyFiles(FilesOf(bundle), true).failures;
}

// Failures after somebody edited bundle.json and fixed its sum.
Failures AfterEdit(const std::function<void(Json*)>& edit) {
  BundleFiles files = FilesOf(ExampleBundle());
  Json json = *fg::ParseJson(files["bundle.json"], "bundle.json");
  edit(&json);
  json["content_sha256"] = ContentSum(json);
  files["bundle.json"] = json.dump(1);
  return VerifyFiles(files, true).failures;
}

TEST(Verify, AnIntactBundleHasNoFailure) {
  EXPECT_EQ(VerifyFiles(FilesOf(ExampleBundle()), true).failures, Failures{});
  EXPECT_EQ(AfterChange([](Bundle* b) { Fail(*b, "parity/FG_A/b", "mismatch", "one bit"); }),
            Failures{});
  EXPECT_EQ(AfterChange([](Bundle* b) { Skip(*b, "lattice/default/a", "not selected"); }),
            Failures{});
}

TEST(Verify, AChangedByteIsSeenByTheSum) {
  BundleFiles files = FilesOf(ExampleBundle());
  std::string& text = files["bundle.json"];
  const std::string from = "\"name\": \"Processor\"";
  text.replace(text.find(from), from.size(), "\"name\": \"Professor\"");
  EXPECT_EQ(VerifyFiles(files, true).failures,
            Failures{"content_sha256: is not the sum of the content"});
}

TEST(Verify, WhatIsDerivedIsDerivedAgain) {
  EXPECT_EQ(AfterEdit([](Json* j) { (*j)["verdict"] = "refuted"; }),
            Failures{"verdict: says \"refuted\", the cells give \"proven\""});
  EXPECT_EQ(AfterEdit([](Json* j) { (*j)["counts"]["pass"] = 7; }).size(), 1u);
  const Failures flipped = AfterEdit([](Json* j) {
    (*j)["cells"][0]["outcome"] = "fail";
    (*j)["cells"][0]["reason"] = "r";
  });
  ASSERT_EQ(flipped.size(), 4u);
  EXPECT_EQ(flipped[0], "verdict: says \"proven\", the cells give \"refuted\"");
  EXPECT_EQ(flipped[1], "reasons: says [], the cells give [\"1 cell failed: parity/default/a\"]");
  EXPECT_TRUE(flipped[2].starts_with("counts: says {")) << flipped[2];
  EXPECT_TRUE(flipped[3].starts_with("gate_verdicts: says {")) << flipped[3];
  EXPECT_EQ(AfterEdit([](Json* j) { (*j)["cells"][0]["waived"] = true; }),
            Failures{"parity/default/a: waived says true, the waivers say otherwise"});
  EXPECT_EQ(AfterEdit([](Json* j) { (*j)["gate_verdicts"].erase("FG_A"); }).size(), 1u);
  EXPECT_EQ(AfterEdit([](Json* j) { (*j)["fault"] = "crash"; })[0],
            "verdict: says \"proven\", the cells give \"unproven\"");
}

TEST(Verify, OnlyAWholeRunIsIntact) {
  EXPECT_EQ(AfterChange([](Bundle* b) {
              b->complete = false;
              b->pending = {b->cells.back().id};
              b->cells.pop_back();
            }),
            Failures{"complete: the run was cut off with 1 cells without a result"});
  EXPECT_EQ(AfterChange([](Bundle* b) {
              b->pending = {b->cells.back().id};
              b->cells.pop_back();
            }),
            Failures{"complete: says true, but lattice/default/a has no result"});
}

TEST(Verify, APassRestsOnPositiveCounts) {
  EXPECT_EQ(AfterChange([](Bundle* b) { b->cells[1].figures = Json::object(); }),
            Failures{"parity/default/b: a pass without a positive count in its figures"});
  EXPECT_EQ(AfterChange([](Bundle* b) {
              b->cells[1].figures = {{"tokens", 0}, {"deep", {{"n", 0.0}}}};
            }),
            Failures{"parity/default/b: a pass without a positive count in its figures"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->cells[1].figures["worst"] = NAN; }),
            Failures{"parity/default/b: a pass with null (a NaN or an infinity) in its figures"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->cells[1].reason = "nearly"; }),
            Failures{"parity/default/b: a pass with a reason"});
  EXPECT_EQ(AfterChange([](Bundle* b) { Skip(*b, "parity/default/b", ""); }),
            Failures{"parity/default/b: no reason why it did not pass"});
}

TEST(Verify, RunsFitTheOutcome) {
  const auto with = [](Outcome outcome, std::vector<std::string> runs) {
    return AfterChange([&](Bundle* b) {
      b->cells[1].outcome = outcome;
      if (outcome != Outcome::kPass) b->cells[1].reason = "r";
      b->cells[1].runs = runs;
    });
  };
  EXPECT_EQ(with(Outcome::kFlaky, {"fail", "pass", "fail"}), Failures{});
  EXPECT_EQ(with(Outcome::kFlaky, {"fail", "fail"}),
            Failures{"parity/default/b: runs: [fail, fail] do not give flaky"});
  EXPECT_EQ(with(Outcome::kFail, {"fail", "pass"}),
            Failures{"parity/default/b: runs: [fail, pass] do not give fail"});
  EXPECT_EQ(with(Outcome::kPass, {"fail", "pass"}),
            Failures{"parity/default/b: runs: [fail, pass] do not give pass"});
  EXPECT_EQ(with(Outcome::kFlaky, {"fail", "well"}),
            Failures{"parity/default/b: runs: unknown word 'well'"});
}

TEST(Verify, EveryPairStandsOnce) {
  EXPECT_EQ(AfterChange([](Bundle* b) { b->pairs.erase(b->pairs.begin()); }),
            Failures{"lattice/FG_A: says nothing"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->pairs.push_back(b->pairs[0]); }),
            Failures{"lattice/FG_A: stands twice"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->pairs[0].reason = ""; }),
            Failures{"lattice/FG_A: no reason"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->pairs[1].shared_with = "FG_A"; }),
            Failures{"lattice/FG_B: shared with FG_A, which has no cell"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->cells.push_back(b->cells[1]); }),
            Failures{"parity/default/b: stands twice"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->cells.pop_back(); }),
            (Failures{"lattice/FG_B: shared with default, which has no cell",
                      "lattice/default: says nothing"}));
  EXPECT_EQ(AfterChange([](Bundle* b) { b->cells[5].id.gate = "FG_X"; })[0],
            "lattice/FG_X/a: 'FG_X' is none of the rows");
  EXPECT_EQ(AfterChange([](Bundle* b) { b->pairs[0].gate = "default"; })[0],
            "lattice/default: has cells and a statement why it has none");
}

TEST(Verify, AttachmentsHaveTheirSums) {
  BundleFiles files = FilesOf(ExampleBundle());
  const std::string raw = std::prev(files.end())->first;
  files[raw] = "evidencf";
  EXPECT_EQ(VerifyFiles(files, true).failures,
            Failures{"parity/default/a: streams.json: " + raw + " has another sum"});
  files.erase(raw);
  EXPECT_EQ(VerifyFiles(files, true).failures,
            Failures{"parity/default/a: streams.json: " + raw + " is missing"});
  const Verification alone = VerifyFiles(files, false);
  EXPECT_EQ(alone.failures, Failures{});
  EXPECT_EQ(alone.notes, Failures{"1 attachments are named but not here; give the folder or the "
                                  "archive to check their sums"});
  files = FilesOf(ExampleBundle());
  files["raw/" + std::string(64, '0')] = "stray";
  EXPECT_EQ(VerifyFiles(files, true).failures,
            Failures{"raw/" + std::string(64, '0') + ": no cell names it"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->cells[0].attachments[0].bytes = 9; }),
            Failures{"parity/default/a: streams.json: " + raw + " has 8 bytes, not 9"});
  EXPECT_EQ(
      AfterChange([](Bundle* b) { b->cells[0].attachments[0].sha256 = "../../etc/passwd"; })[0],
      "parity/default/a: streams.json: sha256 is no sum");
}

TEST(Verify, TheHeaderIsWellFormed) {
  EXPECT_EQ(AfterChange([](Bundle* b) { b->header.hashes.matrix = "none"; }),
            Failures{"hashes.matrix: is no sum"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->header.started = "yesterday"; }),
            Failures{"started: must be a time such as 2026-11-30T18:06:00Z"});
  EXPECT_EQ(AfterChange([](Bundle* b) { b->header.snapshot.engine = ""; }),
            Failures{"snapshot: neither sums nor a word why there is none"});
  EXPECT_EQ(AfterChange([](Bundle* b) {
              b->header.snapshot = {.engine = "",
                                    .defaults = "",
                                    .commit = "",
                                    .program_sha256 = "",
                                    .absent = "nothing to contrast"};
            }),
            Failures{});
}

TEST(Verify, UnknownVersionsAndBrokenTextAreNamed) {
  EXPECT_EQ(AfterEdit([](Json* j) { (*j)["schema"] = 2; }),
            Failures{"bundle.schema: this program reads version 1 of the bundle, not 2"});
  EXPECT_EQ(VerifyFiles({{"bundle.json", "{\"schema\": 1, \"schema\": 1}"}}, true).failures,
            Failures{"bundle.json: the member 'schema' stands twice in one object"});
  EXPECT_EQ(VerifyFiles({{"bundle.json", ""}}, true).failures.size(), 1u);
}

TEST(VerifyBundle, TakesFolderArchiveAndFile) {
  const std::string folder = fg::ProcessTempDir() + "verify_test_" + std::to_string(::getpid());
  ASSERT_TRUE(fg::MakeFolders(folder + "/raw").ok());
  for (const auto& [name, bytes] : FilesOf(ExampleBundle())) {
    ASSERT_TRUE(fg::WriteFileAtomic(folder + "/" + name, bytes).ok());
  }
  ASSERT_TRUE(ArchiveFolder(folder).ok());
  for (const auto& [path, form] : std::vector<std::pair<std::string, std::string>>{
           {folder, "folder"},
           {folder + "/bundle.tar.gz", "archive"},
           {folder + "/bundle.json", "bundle.json alone"}}) {
    const auto verification = VerifyBundle(path);
    ASSERT_TRUE(verification.ok()) << verification.status().message();
    EXPECT_EQ(verification->failures, Failures{});
    EXPECT_EQ(verification->form, form);
    EXPECT_EQ(verification->bundle.cells.size(), 6u);
  }
  ASSERT_TRUE(fg::WriteFileAtomic(folder + "/bundle.tar.gz", "no archive").ok());
  EXPECT_EQ(VerifyBundle(folder + "/bundle.tar.gz")->failures.size(), 1u);
  EXPECT_EQ(VerifyBundle(folder + "/none").status().message(),
            folder + "/none: No such file or directory");
  fs::remove_all(folder);
}

// Somebody else's bundle must not lead out of its folder, nor fill the memory.
TEST(VerifyBundle, LinksAndGiantsAreRefusedByName) {
  const std::string folder = fg::ProcessTempDir() + "verify_links_" + std::to_string(::getpid());
  ASSERT_TRUE(fg::MakeFolders(folder + "/raw").ok());
  ASSERT_TRUE(
      fg::WriteFileAtomic(folder + "/bundle.json", FilesOf(ExampleBundle()).at("bundle.json"))
          .ok());
  const auto only = [&] { return VerifyBundle(folder)->failures; };
  fs::create_symlink("/etc/passwd", folder + "/junit.xml");
  EXPECT_EQ(only(), Failures{folder + "/junit.xml: is a link"});
  fs::remove(folder + "/junit.xml");
  fs::create_symlink("/etc/passwd", folder + "/raw/" + std::string(64, '0'));
  EXPECT_EQ(only(), Failures{folder + "/raw/" + std::string(64, '0') + ": is a link"});
  fs::remove_all(folder + "/raw");
  fs::create_symlink("/etc", folder + "/raw");
  EXPECT_EQ(only(), Failures{folder + "/raw: is a link"});
  fs::remove(folder + "/raw");
  fs::resize_file(folder + "/bundle.json", (size_t{32} << 20) + 1);
  EXPECT_EQ(only(),
            Failures{folder + "/bundle.json: 33554433 bytes, more than the 33554432 allowed"});
  EXPECT_EQ(VerifyBundle(folder + "/bundle.json")->failures.size(), 1u);
  fs::remove(folder + "/bundle.json");
  fs::create_symlink("/etc/passwd", folder + "/bundle.json");
  EXPECT_EQ(only(), Failures{folder + "/bundle.json: is a link"});
  EXPECT_EQ(LoadBundle(folder).status().message(), folder + "/bundle.json: is a link");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace flipgate
