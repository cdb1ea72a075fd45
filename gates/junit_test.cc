#include "gates/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/testing/example_bundle.h"

namespace flipgate {
namespace {

using testing::HasSubstr;

TEST(JUnitXml, OneCaseACellOneSuiteAKind) {
  Bundle bundle = ExampleBundle();
  Fail(bundle, "parity/FG_A/b", "mismatch", "logit 3 < \"4\" & more\nsecond line\x01");
  Skip(bundle, "lattice/default/a", "no snapshot");
  bundle.cells[0].outcome = Outcome::kError;
  bundle.cells[0].reason = "time limit";
  EXPECT_EQ(JUnitXml(bundle),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="flipgate.cpu" tests="7" failures="2" errors="1" skipped="1" time="1.500">
  <testsuite name="parity" timestamp="2026-11-30T18:06:00" tests="5" failures="1" errors="1" skipped="0" time="1.250">
    <testcase classname="flipgate.parity" name="parity/default/a" time="0.250">
      <error type="error" message="time limit"/>
    </testcase>
    <testcase classname="flipgate.parity" name="parity/default/b" time="0.250"/>
    <testcase classname="flipgate.parity" name="parity/FG_A/a" time="0.250"/>
    <testcase classname="flipgate.parity" name="parity/FG_A/b" time="0.250">
      <failure type="fail.mismatch" message="logit 3 &lt; &quot;4&quot; &amp; more&#10;second line?"/>
    </testcase>
    <testcase classname="flipgate.parity" name="parity/FG_B/a" time="0.250"/>
  </testsuite>
  <testsuite name="lattice" timestamp="2026-11-30T18:06:00" tests="1" failures="0" errors="0" skipped="1" time="0.250">
    <testcase classname="flipgate.lattice" name="lattice/default/a" time="0.250">
      <skipped message="no snapshot"/>
    </testcase>
  </testsuite>
  <testsuite name="verdict" timestamp="2026-11-30T18:06:00" tests="1" failures="1" errors="0" skipped="0" time="0.000">
    <testcase classname="flipgate.verdict" name="verdict/cpu" time="0.000">
      <failure type="refuted" message="1 cell failed: parity/FG_A/b; 1 cell ended in an error: parity/default/a; 1 cell skipped: lattice/default/a"/>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(JUnitXml, APassHasNoElementAndWhatIsMissingIsAnError) {
  Bundle bundle = ExampleBundle();
  EXPECT_THAT(JUnitXml(bundle), HasSubstr("tests=\"7\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  bundle.pending = {bundle.cells.back().id};
  bundle.cells.pop_back();
  EXPECT_THAT(JUnitXml(bundle),
              HasSubstr("<error type=\"pending\" message=\"the run ended without a result\"/>"));
}

TEST(JUnitXml, AWaivedFailureIsSaidAndSkipped) {
  Bundle bundle = ExampleBundle();
  Fail(bundle, "parity/FG_A/b", "mismatch", "one bit");
  bundle.waivers = {{.cell = {"parity", "FG_A", "b"},
                     .hardware_class = "cpu",
                     .issue = "#7",
                     .owner = "ann",
                     .reason = "known",
                     .expires = "2026-12-01"}};
  EXPECT_THAT(JUnitXml(bundle), HasSubstr("<skipped message=\"waived: one bit\"/>"));
  EXPECT_THAT(JUnitXml(bundle), HasSubstr("failures=\"0\""));
}

}  // namespace
}  // namespace flipgate
