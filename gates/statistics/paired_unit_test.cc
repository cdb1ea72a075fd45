#include "gates/statistics/paired_unit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gates/statistics/paired_procedure.h"

namespace flipgate {
namespace {

// A machine on which two scripted engines run: time is the number of runs so far.
struct Machine {
  double drift = 0;          // ln speed lost a run
  double second_slower = 0;  // ln speed lost by whichever runs second of two
  int runs = 0, started = 0, alive = 0;
  std::string log;  // a letter a run
};

class ScriptedEngine : public TimedEngine {
 public:
  ScriptedEngine(Machine* machine, char arm, PhaseSpeeds speeds)
      : machine_(machine), arm_(arm), speeds_(speeds) {
    ++machine_->alive;
    ++machine_->started;
  }
  ~ScriptedEngine() override { --machine_->alive; }
  fg::Result<PhaseSpeeds> Run() override {
    machine_->log += arm_;
    const double lost =
        machine_->drift * machine_->runs + (machine_->runs % 2 == 1 ? machine_->second_slower : 0);
    ++machine_->runs;
    return PhaseSpeeds{speeds_[0] * std::exp(-lost), speeds_[1] * std::exp(-lost)};
  }

 private:
  Machine* machine_;
  char arm_;
  PhaseSpeeds speeds_;
};

StartTimedEngine Starter(Machine* machine, char arm, PhaseSpeeds speeds) {
  return [=]() -> fg::Result<std::unique_ptr<TimedEngine>> {
    return std::unique_ptr<TimedEngine>(std::make_unique<ScriptedEngine>(machine, arm, speeds));
  };
}

UnitRecord Measure(Machine* machine, PhaseSpeeds a, PhaseSpeeds b, std::mt19937_64* random) {
  auto unit = MeasureUnit(Starter(machine, 'A', a), Starter(machine, 'B', b), random);
  EXPECT_TRUE(unit.ok()) << unit.status().message();
  return *unit;
}

TEST(PairedUnit, ValuesAreTheLogRatiosOfEachPhase) {
  Machine machine;
  std::mt19937_64 random(1);
  const UnitRecord unit = Measure(&machine, {100, 10}, {50, 12}, &random);
  EXPECT_NEAR(unit.value[0], std::log(0.5), 1e-12);
  EXPECT_NEAR(unit.value[1], std::log(1.2), 1e-12);
  EXPECT_EQ(unit.a.size(), 4u);
  EXPECT_EQ(unit.b.size(), 4u);
  EXPECT_EQ(machine.started, 2);
  EXPECT_EQ(machine.alive, 0) << "a unit's processes are its own";
}

TEST(PairedUnit, WarmsUpThenRunsTheOrdersThatItRecords) {
  std::mt19937_64 random(7);
  int b_first = 0, baab = 0;
  constexpr int kUnits = 400;
  for (int i = 0; i < kUnits; ++i) {
    Machine machine;
    const UnitRecord unit = Measure(&machine, {1, 1}, {1, 1}, &random);
    const std::string warm_ups = unit.b_started_first ? "BBAA" : "AABB";
    EXPECT_EQ(machine.log, warm_ups + unit.orders[0] + unit.orders[1]);
    b_first += unit.b_started_first;
    for (const std::string& order : unit.orders) baab += order == "BAAB";
  }
  // Fair coins: five standard deviations.
  EXPECT_NEAR(b_first, kUnits / 2, 50);
  EXPECT_NEAR(baab, kUnits, 75);
}

TEST(PairedUnit, AStraightDriftCancels) {
  Machine machine;
  machine.drift = 0.005;
  std::mt19937_64 random(3);
  const UnitRecord unit = Measure(&machine, {100, 10}, {100, 10}, &random);
  EXPECT_NEAR(unit.value[0], 0, 1e-12);
}

// Equal programs on a machine that slows whichever runs second by 8 %, or all by 0.5 % a run.
TEST(PairedUnit, OrderAndDriftAreNeverCalled) {
  for (const bool drifting : {false, true}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Machine machine;
      (drifting ? machine.drift : machine.second_slower) = drifting ? 0.005 : 0.08;
      std::mt19937_64 random(seed);
      PairedProcedure procedure(8);
      while (!procedure.Done())
        procedure.Add(Measure(&machine, {100, 10}, {100, 10}, &random).value[0]);
      EXPECT_EQ(procedure.verdict(), SpeedVerdict::kFlat) << drifting << " " << seed;
    }
  }
}

TEST(PairedUnit, AnEngineWithoutASpeedEndsTheUnit) {
  Machine machine;
  std::mt19937_64 random(1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto unit =
      MeasureUnit(Starter(&machine, 'A', {1, 1}), Starter(&machine, 'B', {1, nan}), &random);
  EXPECT_EQ(unit.status().message(), "a run told no speed for decode");
  const auto dead = MeasureUnit(
      []() -> fg::Result<std::unique_ptr<TimedEngine>> {
        return fg::Status(fg::ErrorKind::kIo, "it died");
      },
      Starter(&machine, 'B', {1, 1}), &random);
  EXPECT_EQ(dead.status().message(), "it died");
}

}  // namespace
}  // namespace flipgate
