// Simulated units under noises that machines make: what the procedure's error rates are measured
// on. docs/statistics.md "Simulated error rates".
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gates/statistics/paired_procedure.h"

namespace flipgate {

enum class NoiseShape { kNormal, kHeavyTails, kBimodal };

struct NoiseModel {
  std::string name = {};
  double effect = 0;         // ln(speed of B / speed of A) that is true
  double unit_noise = 0.01;  // standard deviation of a unit's value from what differs per process
  NoiseShape shape = NoiseShape::kNormal;
  double run_noise = 0.003;  // standard deviation of one run's ln speed
  double drift = 0;          // ln speed lost from run to run, for ever
  double second_slower = 0;  // ln speed lost by whichever runs second of a pair of runs
  double first_slot = 0;     // ln speed lost in the first run of a quad
  double ar1 = 0;            // correlation of the run noise from run to run
};

// Makes units as the measurement does: a fresh process of each arm in random order, two warm-ups
// each, then two quads, A B B A or B A A B by a fair coin.
class UnitSimulator {
 public:
  UnitSimulator(const NoiseModel& model, uint64_t seed) : model_(model), random_(seed) {}
  double NextUnit();

 private:
  double ProcessNoise();
  double RunNoise();
  double Quad(const double (&process)[2]);
  void Advance() { ++runs_; }

  NoiseModel model_;
  std::mt19937_64 random_;
  double last_noise_ = 0;
  int64_t runs_ = 0;
};

struct OutcomeShares {
  int trials = 0, slower = 0, faster = 0, flat = 0, undecided = 0;
  double Share(int count) const { return static_cast<double>(count) / trials; }
};

// `trials` procedures of K = `cells`, each with a simulator of its own seed.
OutcomeShares SimulateProcedure(const NoiseModel& model, int cells, int trials, uint64_t seed);

// A row of docs/statistics.md: a model, what must not be called, and how often it may be.
struct SimulatedClaim {
  NoiseModel model;
  enum class Kind { kWrongCall, kFlatCall, kMissed } kind;
  double at_most;  // share of trials
  // kWrongCall: `slower` or `faster`. kFlatCall: `flat`. kMissed: anything but `slower`.
  int Count(const OutcomeShares& shares) const;
};
const std::vector<SimulatedClaim>& SimulatedClaims();

}  // namespace flipgate
