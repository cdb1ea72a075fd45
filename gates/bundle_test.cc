#include "gates/bundle.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/testing/temp_dir.h"
#include "gates/testing/example_bundle.h"

namespace flipgate {
namespace {

using fg::Json;

constexpr const char* kExample = "/gates/testing/example_bundle.json";

TEST(Bundle, CountsAndJudges) {
  Bundle bundle = ExampleBundle();
  EXPECT_EQ(bundle.Verdict().verdict, Verdict::kProven);
  EXPECT_EQ(bundle.Counts().at("pass"), 6);
  Fail(bundle, "parity/FG_A/b", "mismatch", "one bit");
  EXPECT_EQ(bundle.Verdict().verdict, Verdict::kRefuted);
  EXPECT_EQ(bundle.Counts().at("pass"), 5);
  EXPECT_EQ(bundle.Counts().at("fail"), 1);
  EXPECT_EQ(bundle.Counts().at("cells"), 6);
  bundle.pending.push_back({"parity", "FG_C", "a"});
  EXPECT_EQ(bundle.Counts().at("pending"), 1);
  EXPECT_EQ(bundle.Counts().at("cells"), 7);
}

TEST(Bundle, AGatesVerdictIsOfItsCellsThoseItSharesAndTheDefaults) {
  Bundle bundle = ExampleBundle();
  Fail(bundle, "parity/FG_A/b", "mismatch", "one bit");
  EXPECT_EQ(bundle.GateVerdict("FG_A").verdict, Verdict::kRefuted);
  EXPECT_EQ(bundle.GateVerdict("FG_B").verdict, Verdict::kProven);
  EXPECT_EQ(bundle.GateVerdict("default").verdict, Verdict::kProven);
  Bundle of_default = ExampleBundle();
  Skip(of_default, "lattice/default/a", "no snapshot");
  for (const char* row : {"default", "FG_A", "FG_B"}) {
    EXPECT_EQ(of_default.GateVerdict(row).verdict, Verdict::kUnproven) << row;
  }
  Bundle shared = ExampleBundle();
  for (BundlePair& pair : shared.pairs) {
    if (pair.status == BundlePair::Status::kShared) pair.kind = "parity", pair.shared_with = "FG_A";
  }
  Fail(shared, "parity/FG_A/b", "mismatch", "one bit");
  EXPECT_EQ(shared.GateVerdict("FG_B").verdict, Verdict::kRefuted);
}

TEST(Bundle, AWaiverHoldsUntilItsDay) {
  Bundle bundle = ExampleBundle();
  Fail(bundle, "parity/FG_A/b", "mismatch", "one bit");
  bundle.waivers = {{.cell = {"parity", "FG_A", "b"},
                     .hardware_class = "cpu",
                     .issue = "#7",
                     .owner = "ann",
                     .reason = "known",
                     .expires = "2026-12-01"}};
  EXPECT_TRUE(bundle.Waived(CellOf(bundle, "parity/FG_A/b")));
  EXPECT_EQ(bundle.Counts().at("waived"), 1);
  EXPECT_EQ(bundle.Verdict().verdict, Verdict::kUnproven);
  EXPECT_EQ(bundle.GateVerdict("FG_B").verdict, Verdict::kProven);
  bundle.waivers[0].expires = "2026-11-30";
  EXPECT_FALSE(bundle.Waived(CellOf(bundle, "parity/FG_A/b")));
  EXPECT_EQ(bundle.Verdict().verdict, Verdict::kRefuted);
}

TEST(Bundle, PairsWithoutCellsSayWhy) {
  const auto pairs = PairsWithoutCells(SmallMatrix(), "cpu");
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].gate + ": " + pairs[0].reason, "FG_A: its bits differ");
  EXPECT_EQ(pairs[1].gate + " with " + pairs[1].shared_with, "FG_B with default");
  std::string text = kSmallMatrix;
  const std::string from = "FG_B: {required: [a]}";
  text.replace(text.find(from), from.size(), "FG_B: {required: [a], classes: [gpu]}");
  const auto narrow = PairsWithoutCells(*Matrix::Parse(text, "m.yaml", SmallKinds()), "cpu");
  ASSERT_EQ(narrow.size(), 3u);
  EXPECT_EQ(narrow[0].status, BundlePair::Status::kOutOfScope);
}

// The example is also what gates/schema_test.py holds against docs/schema/bundle.schema.json.
TEST(BundleJson, IsTheExample) {
  Bundle bundle = ExampleBundle();
  Fail(bundle, "parity/FG_A/b", "mismatch", "logit 3 of step 0 differs");
  Skip(bundle, "lattice/default/a", "no snapshot");
  bundle.waivers = {{.cell = {"parity", "FG_A", "b"},
                     .hardware_class = "cpu",
                     .issue = "#7",
                     .owner = "ann",
                     .reason = "known",
                     .expires = "2026-12-01"}};
  bundle.blind_spots = {{"prefill", "matmul", "mmq.q4_K.nb", 30}};
  const std::string text = BundleToJson(bundle).dump(1) + "\n";
  const auto example = fg::ReadFile(std::string(FG_SOURCE_DIR) + kExample);
  ASSERT_TRUE(example.ok()) << example.status().message();
  EXPECT_EQ(text, *example)
      << "the format moved: look at the difference, then write the new example";
}

TEST(BundleJson, GoesBothWays) {
  const auto text = fg::ReadFile(std::string(FG_SOURCE_DIR) + kExample);
  const Json json = *fg::ParseJson(*text, "example");
  const auto bundle = BundleFromJson(json);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(BundleToJson(*bundle).dump(), json.dump());
}

std::string Refused(const std::function<void(Json*)>& spoil) {
  Json json = BundleToJson(ExampleBundle());
  spoil(&json);
  const auto bundle = BundleFromJson(json);
  EXPECT_FALSE(bundle.ok());
  return bundle.status().message();
}

TEST(BundleJson, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Refused([](Json* j) { (*j)["schema"] = 2; }),
            "bundle.schema: this program reads version 1 of the bundle, not 2");
  EXPECT_EQ(Refused([](Json* j) { (*j)["schema"] = "1"; }),
            "bundle.schema: must be a whole number of 64 bits, is a string");
  EXPECT_EQ(Refused([](Json* j) { j->erase("schema"); }), "bundle.schema: is missing");
  EXPECT_EQ(Refused([](Json* j) { *j = Json::array(); }), "bundle: must be an object, is an array");
  EXPECT_EQ(Refused([](Json* j) { (*j)["verdikt"] = "proven"; }),
            "bundle: unknown member 'verdikt'; did you mean 'verdict'?");
  EXPECT_EQ(Refused([](Json* j) { (*j)["cells"][2]["outcome"] = "passed"; }),
            "cells[2].outcome: unknown word 'passed'; did you mean 'pass'?");
  EXPECT_EQ(Refused([](Json* j) { (*j)["cells"][2]["outcomes"] = "pass"; }),
            "cells[2]: unknown member 'outcomes'; did you mean 'outcome'?");
  EXPECT_EQ(Refused([](Json* j) { (*j)["cells"][1].erase("seconds"); }),
            "cells[1].seconds: is missing");
  EXPECT_EQ(Refused([](Json* j) { (*j)["cells"][0]["attachments"][0]["bytes"] = -0.5; }),
            "cells[0].attachments[0].bytes: must be a whole number of 64 bits, is a number");
  EXPECT_EQ(Refused([](Json* j) { (*j)["cells"] = Json::object(); }),
            "bundle.cells: must be an array, is an object");
  EXPECT_EQ(Refused([](Json* j) { (*j)["pending"] = {"parity"}; }),
            "'parity' is no cell: KIND/GATE/MODEL");
  EXPECT_EQ(Refused([](Json* j) { (*j)["hashes"]["engines"] = ""; }),
            "hashes: unknown member 'engines'; did you mean 'engine'?");
  EXPECT_EQ(Refused([](Json* j) { (*j)["variables"]["A"] = 1; }),
            "bundle.variables.A: must be a string");
  EXPECT_EQ(Refused([](Json* j) { (*j)["pairs"][0]["status"] = "blank"; }),
            "pairs[0].status: unknown word 'blank'");
}

TEST(LoadBundle, NamesTheFile) {
  EXPECT_EQ(LoadBundle("/no/such/bundle.json").status().message(),
            "/no/such/bundle.json: No such file or directory");
  const std::string path = fg::ProcessTempDir() + "bundle_test_damaged.json";
  ASSERT_TRUE(fg::WriteFileAtomic(path, "{\"schema\": 9}").ok());
  EXPECT_EQ(LoadBundle(path).status().message(),
            path + ": bundle.schema: this program reads version 1 of the bundle, not 9");
}

}  // namespace
}  // namespace flipgate
