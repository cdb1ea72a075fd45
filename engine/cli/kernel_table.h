// The tables of `fg-engine bench --kernels`: where the time of one forward goes. docs/bench.md.
#pragma once

#include <cstddef>
#include <string>

#include "engine/cli/bench_table.h"
#include "engine/probe/bench.h"

namespace fg {

struct KernelReport {
  BenchRow row;        // of the same forward as it runs by itself
  KernelSeries timed;  // of one whose kernels were timed
};

// What comes before the first report, and a report (number `index`); BenchFoot comes after the last
// one.
std::string KernelHead(BenchForm form);
std::string KernelLines(BenchForm form, const KernelReport& report, size_t index);

}  // namespace fg
