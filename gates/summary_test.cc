#include "gates/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/testing/example_bundle.h"

namespace flipgate {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(SummaryMarkdown, SaysItAll) {
  Bundle bundle = ExampleBundle();
  Fail(bundle, "parity/FG_A/b", "mismatch", "logit 3 | 4\ndiffers");
  Skip(bundle, "lattice/default/a", "no snapshot");
  bundle.blind_spots = {{"prefill", "matmul", "mmq.q4_K.nb", 30}};
  EXPECT_EQ(SummaryMarkdown(bundle), R"(# refuted on cpu

- 1 cell failed: parity/FG_A/b
- 1 cell skipped: lattice/default/a

6 cells: 4 pass, 1 fail, 0 flaky, 0 error, 1 skipped, 0 unsupported; 1.5 s.

| evidence | default | FG_A | FG_B |
|---|---|---|---|
| parity | pass | pass, FAIL | pass |
| lattice | skipped | not applicable | shared with default |
| **verdict** | unproven | refuted | unproven |

## Cells that did not pass

| cell | outcome | category | reason |
|---|---|---|---|
| parity/FG_A/b | FAIL | mismatch | logit 3 \| 4 differs |
| lattice/default/a | skipped |  | no snapshot |

## Not applicable

- lattice/FG_A: its bits differ

## Blind spots

- prefill matmul mmq.q4_K.nb: 30 dispatches by default, reached by no evidence that checks values

## What was measured

- subject default, engine aaaaaaaaaaaa, defaults bbbbbbbbbbbb, suite cccccccccccc, matrix dddddddddddd, recipe eeeeeeeeeeee
- built from commit cccccccccccc
- snapshot: engine 111111111111, defaults 222222222222, commit 333333333333
- device: Processor
- started 2026-11-30T18:06:00Z, 2 at a time
)");
}

TEST(SummaryMarkdown, AProofIsShort) {
  const std::string text = SummaryMarkdown(ExampleBundle());
  EXPECT_THAT(text, HasSubstr("# proven on cpu\n\n6 cells: 6 pass"));
  EXPECT_THAT(text, Not(HasSubstr("did not pass")));
  EXPECT_THAT(text, HasSubstr("None: value-checking evidence reached every label"));
}

TEST(SummaryMarkdown, ShowsFaultSelectionWaiversAndWhatWasCutOff) {
  Bundle bundle = ExampleBundle();
  bundle.header.fault = "nibbles_swapped";
  bundle.header.selection = {"parity", "without lattice"};
  bundle.header.build["dirty"] = true;
  bundle.header.snapshot = {.engine = "",
                            .defaults = "",
                            .commit = "",
                            .program_sha256 = "",
                            .absent = "nothing to contrast"};
  bundle.waivers = {{.cell = {"parity", "FG_A", "b"},
                     .hardware_class = "cpu",
                     .issue = "#7",
                     .owner = "ann",
                     .reason = "known",
                     .expires = "2026-11-30"}};
  bundle.complete = false;
  bundle.pending = {bundle.cells.back().id};
  bundle.cells.pop_back();
  const std::string text = SummaryMarkdown(bundle);
  for (const char* part :
       {"**fault planted: nibbles_swapped**", "a part of the matrix: parity, without lattice",
        "with uncommitted changes", "no snapshot: nothing to contrast",
        "parity/FG_A/b: known (#7, ann, EXPIRED on 2026-11-30)", "**The run was cut off",
        "| lattice/default/a | without a result |", "Not known: the run was cut off."}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(SummaryMarkdown, AnEnginesAnswersMayHaveAnyType) {
  Bundle bundle = ExampleBundle();
  bundle.header.device = {{"name", 3}};
  bundle.header.build = {{"commit", nullptr}, {"dirty", "yes"}};
  EXPECT_THAT(SummaryMarkdown(bundle), HasSubstr("- built from commit none\n"));
}

}  // namespace
}  // namespace flipgate
