// flipgate-simulate [TRIALS [CELLS [SEED]]]: the table of docs/statistics.md, as Markdown.
#include <fmt/format.h>

#include <cstdlib>

#include "gates/statistics/simulation.h"

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 2000;
  const int cells = argc > 2 ? std::atoi(argv[2]) : 8;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  if (trials < 1 || cells < 1) {
    fmt::print(stderr, "flipgate-simulate: TRIALS and CELLS are whole numbers from 1\n");
    return 2;
  }
  fmt::print("| simulated | slower | faster | flat | undecided | claim | holds |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  bool all = true;
  for (const flipgate::SimulatedClaim& claim : flipgate::SimulatedClaims()) {
    const auto shares = flipgate::SimulateProcedure(claim.model, cells, trials, seed);
    const double share = shares.Share(claim.Count(shares));
    using Kind = flipgate::SimulatedClaim::Kind;
    const char* what = claim.kind == Kind::kWrongCall  ? "called"
                       : claim.kind == Kind::kFlatCall ? "called flat"
                                                       : "missed";
    const bool holds = share <= claim.at_most;
    all = all && holds;
    fmt::print("| {} | {:.2f} % | {:.2f} % | {:.2f} % | {:.2f} % | {} at most {:.1f} % | {} |\n",
               claim.model.name, 100 * shares.Share(shares.slower),
               100 * shares.Share(shares.faster), 100 * shares.Share(shares.flat),
               100 * shares.Share(shares.undecided), what, 100 * claim.at_most,
               holds ? "yes" : "no");
  }
  return all ? 0 : 1;
}
