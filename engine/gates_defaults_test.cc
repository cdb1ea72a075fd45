#include "engine/gates_defaults.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

TEST(GateDefaults, CanonicalTextIsOneLineAGateInRegistryOrder) {
  ClassDefaults defaults;
  defaults.gates[1] = {GateStage::kPromoted, "1"};
  defaults.gates[5] = {GateStage::kPromoted, "2"};
  EXPECT_EQ(CanonicalDefaults(defaults),
            "FG_MMQ opt_in\nFG_MMQ_RAW promoted 1\nFG_MMQ_RAW_NB opt_in\n"
            "FG_MMQ_A_TRANSPOSE opt_in\nFG_MMQ_Q6K_NB opt_in\nFG_MMQ_A_FUSE promoted 2\n"
            "FG_MMQ_Q6K_EXP opt_in\nFG_MMQ_Q4K_DSC opt_in\n");
  // printf of that text | sha256sum
  EXPECT_EQ(DefaultsHash(defaults),
            "ac53c234f39ac03facb44dbcfd4991dbcff28956c74eac3919e0fb19cb240651");
}

TEST(GateDefaults, AClassThatTheFileDoesNotNameIsOptIn) {
  EXPECT_EQ(CanonicalDefaults(DefaultsOf("sm_121")),
            "FG_MMQ opt_in\nFG_MMQ_RAW opt_in\nFG_MMQ_RAW_NB opt_in\n"
            "FG_MMQ_A_TRANSPOSE opt_in\nFG_MMQ_Q6K_NB opt_in\nFG_MMQ_A_FUSE opt_in\n"
            "FG_MMQ_Q6K_EXP opt_in\nFG_MMQ_Q4K_DSC opt_in\n");
}

TEST(GateDefaults, OtherIsCompiledInAndOptIn) {
  bool found = false;
  for (const ClassDefaults& defaults : CompiledDefaults()) {
    if (defaults.hardware_class != "other") continue;
    found = true;
    for (const GateDefault& gate : defaults.gates) EXPECT_EQ(gate.stage, GateStage::kOptIn);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace fg
