#include "gates/statistics/simulation.h"

#include <cmath>

namespace flipgate {

double UnitSimulator::ProcessNoise() {
  std::normal_distribution<double> normal;
  const double scale = model_.unit_noise / std::sqrt(2.0);  // two processes a unit
  switch (model_.shape) {
    case NoiseShape::kNormal:
      return scale * normal(random_);
    case NoiseShape::kHeavyTails: {
      // Student's t with 3 degrees of freedom, brought to standard deviation 1.
      double squares = 0;
      const double z = normal(random_);
      for (int i = 0; i < 3; ++i) squares += std::pow(normal(random_), 2);
      return scale * z / std::sqrt(squares / 3) / std::sqrt(3.0);
    }
    case NoiseShape::kBimodal: {
      // A process lands on a good or a bad placement of its memory.
      const double side = std::bernoulli_distribution(0.5)(random_) ? 1 : -1;
      return scale * (0.95 * side + std::sqrt(1 - 0.95 * 0.95) * normal(random_));
    }
  }
  return 0;
}

double UnitSimulator::RunNoise() {
  std::normal_distribution<double> normal;
  const double fresh = std::sqrt(1 - model_.ar1 * model_.ar1) * model_.run_noise;
  last_noise_ = model_.ar1 * last_noise_ + fresh * normal(random_);
  return last_noise_;
}

double UnitSimulator::Quad(const double (&process)[2]) {
  const bool a_first = std::bernoulli_distribution(0.5)(random_);
  // Arms of the four runs: 0 is A, 1 is B.
  const int arms[4] = {a_first ? 0 : 1, a_first ? 1 : 0, a_first ? 1 : 0, a_first ? 0 : 1};
  double sum[2] = {};
  for (int slot = 0; slot < 4; ++slot) {
    const int arm = arms[slot];
    double speed = process[arm] + RunNoise() - model_.drift * static_cast<double>(runs_);
    if (arm == 1) speed += model_.effect;
    if (slot % 2 == 1) speed -= model_.second_slower;
    if (slot == 0) speed -= model_.first_slot;
    sum[arm] += speed / 2;
    Advance();
  }
  return sum[1] - sum[0];
}

double UnitSimulator::NextUnit() {
  const double process[2] = {ProcessNoise(), ProcessNoise()};
  for (int warm_up = 0; warm_up < 4; ++warm_up) {
    (void)RunNoise();
    Advance();
  }
  const double first = Quad(process);
  return (first + Quad(process)) / 2;
}

OutcomeShares SimulateProcedure(const NoiseModel& model, int cells, int trials, uint64_t seed) {
  OutcomeShares shares;
  shares.trials = trials;
  for (int trial = 0; trial < trials; ++trial) {
    UnitSimulator simulator(model, seed * 1000003 + static_cast<uint64_t>(trial));
    PairedProcedure procedure(cells);
    while (!procedure.Done()) procedure.Add(simulator.NextUnit());
    switch (procedure.verdict()) {
      case SpeedVerdict::kSlower:
        ++shares.slower;
        break;
      case SpeedVerdict::kFaster:
        ++shares.faster;
        break;
      case SpeedVerdict::kFlat:
        ++shares.flat;
        break;
      case SpeedVerdict::kUndecided:
        ++shares.undecided;
        break;
    }
  }
  return shares;
}

int SimulatedClaim::Count(const OutcomeShares& shares) const {
  switch (kind) {
    case Kind::kWrongCall:
      return shares.slower + shares.faster;
    case Kind::kFlatCall:
      return shares.flat;
    case Kind::kMissed:
      return shares.trials - shares.slower;
  }
  return shares.trials;
}

const std::vector<SimulatedClaim>& SimulatedClaims() {
  using Kind = SimulatedClaim::Kind;
  static const double kLess15 = std::log(1 - 0.015), kLess3 = std::log(1 - 0.03);
  static const std::vector<SimulatedClaim> claims = {
      {{.name = "no effect, noise 1 %", .unit_noise = 0.01}, Kind::kWrongCall, 0.025},
      {{.name = "no effect, noise 2 %", .unit_noise = 0.02}, Kind::kWrongCall, 0.025},
      {{.name = "no effect, noise 3 %", .unit_noise = 0.03}, Kind::kWrongCall, 0.025},
      {{.name = "no effect, noise 4 %", .unit_noise = 0.04}, Kind::kWrongCall, 0.025},
      {{.name = "1.5 % slower, noise 1 %", .effect = kLess15, .unit_noise = 0.01},
       Kind::kFlatCall,
       0.03},
      {{.name = "1.5 % slower, noise 2 %", .effect = kLess15, .unit_noise = 0.02},
       Kind::kFlatCall,
       0.03},
      {{.name = "1.5 % slower, noise 4 %", .effect = kLess15, .unit_noise = 0.04},
       Kind::kFlatCall,
       0.03},
      {{.name = "3 % slower, noise 1 %", .effect = kLess3, .unit_noise = 0.01},
       Kind::kMissed,
       0.01},
      {{.name = "3 % slower, noise 2 %", .effect = kLess3, .unit_noise = 0.02},
       Kind::kMissed,
       0.01},
      {{.name = "3 % slower, noise 3 %", .effect = kLess3, .unit_noise = 0.03},
       Kind::kMissed,
       0.01},
      {{.name = "the first run of a quad 8 % slower", .unit_noise = 0.02, .first_slot = 0.08},
       Kind::kWrongCall,
       0.03},
      {{.name = "whichever runs second 8 % slower", .unit_noise = 0.02, .second_slower = 0.08},
       Kind::kWrongCall,
       0.03},
      {{.name = "a drift of 0.5 % a run", .unit_noise = 0.02, .drift = 0.005},
       Kind::kWrongCall,
       0.03},
      {{.name = "AR(1) noise, 0.9", .unit_noise = 0.02, .run_noise = 0.02, .ar1 = 0.9},
       Kind::kWrongCall,
       0.03},
      {{.name = "heavy tails", .unit_noise = 0.02, .shape = NoiseShape::kHeavyTails},
       Kind::kWrongCall,
       0.03},
      {{.name = "two modes", .unit_noise = 0.02, .shape = NoiseShape::kBimodal},
       Kind::kWrongCall,
       0.03},
  };
  return claims;
}

}  // namespace flipgate
