#include "gates/speed_control.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flipgate {
namespace {

void Feed(SpeedControl* control, double prefill, double decode) {
  for (int i = 0; control->Wants(); ++i) {
    UnitRecord unit;
    const double step = 0.001 * (i % 3 - 1);
    unit.value = {std::log(prefill) + step, std::log(decode) + step};
    control->Add(unit);
  }
}

TEST(SpeedControl, ASteadyMachineRaisesNoAlarm) {
  SpeedControl control;
  Feed(&control, 1.001, 0.999);
  EXPECT_EQ(control.units().size(), 16u);
  EXPECT_FALSE(control.alarm().has_value());
}

TEST(SpeedControl, AMachineThatFavoursAnArmIsNamed) {
  SpeedControl control;
  Feed(&control, 1.0, 0.95);
  EXPECT_EQ(control.alarm(),
            "control: the same program against itself reads -5.0 % in decode over 16 units; this "
            "machine cannot time now, so quiet it (flipgate doctor) and run again");
  EXPECT_FALSE(control.Wants());
}

// A certain trifle is none: the margin holds for the control as for the cells.
TEST(SpeedControl, ATrifleRaisesNoAlarm) {
  SpeedControl control;
  Feed(&control, 1.01, 1.0);
  EXPECT_FALSE(control.alarm().has_value());
}

}  // namespace
}  // namespace flipgate
