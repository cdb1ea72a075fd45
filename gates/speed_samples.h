// Measured speeds from files: plain numbers, or what llama-bench writes as JSON.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace flipgate {

// One thing that was measured, in the order of the file.
struct SpeedSeries {
  std::string name;            // "values", or llama-bench's test: "MODEL pp512 @ d1024"
  std::vector<double> values;  // finite and above 0; larger is faster
  // Several entries of one test: a value is the mean of one entry, which is one process. Else the
  // values are repetitions inside one process.
  bool one_process = false;
};

// Text of one file. Plain: one number a line, blank lines and what follows '#' left out; with
// `seconds` each is a time and its inverse is kept. JSON: llama-bench's array (-o json) or its
// objects one a line (-o jsonl); tests by model, n_prompt, n_gen and n_depth. kUsage
// "NAME:LINE: ..." or "NAME: ..." for what is no such thing.
fg::Result<std::vector<SpeedSeries>> ReadSpeedSamples(const std::string& text,
                                                      const std::string& name, bool seconds);

// The series of both, paired by name; a unit is the same place in both. kUsage where a series is
// in one file alone or the numbers of values differ.
struct SpeedPair {
  std::string name;
  std::vector<double> units;  // ln(b / a)
  double median_a = 0, median_b = 0;
  bool one_process = false;
};
fg::Result<std::vector<SpeedPair>> PairSpeedSamples(const std::vector<SpeedSeries>& a,
                                                    const std::string& a_name,
                                                    const std::vector<SpeedSeries>& b,
                                                    const std::string& b_name);

}  // namespace flipgate
