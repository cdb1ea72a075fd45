// The table of `fg-engine bench`, a row as soon as it is measured. docs/bench.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace fg {

enum class BenchForm { kMarkdown, kCsv, kJson };
// "md", "csv", "json". kUsage with the nearest.
Result<BenchForm> ReadBenchForm(const std::string& name);

struct BenchRow {
  std::string file, model;  // path; "qwen2 1.5B q4_K"
  uint64_t size_bytes = 0;
  int64_t parameters = 0;
  std::string level;                          // "avx512"; on a device its class, "sm_90"
  std::string device;                         // "NVIDIA H200"; empty on the CPU
  int threads = 1;                            // of the CPU; says nothing on a device
  int64_t batch = 0;                          // most rows of one forward
  int64_t prompt = 0, tokens = 0, depth = 0;  // one of prompt and tokens is 0
  std::vector<double> seconds;                // of each repetition
  // Of one repetition. A prompt's share is of int8 multiply-adds, a decode's of bytes read.
  int64_t macs = 0;
  uint64_t bytes = 0;
  double ceiling = 0;          // measured: multiply-adds or bytes a second; 0: not measured
  Json more = Json::object();  // joins the row's members in JSON

  std::string Test() const;  // "pp512", "tg128@d1024"
  bool prefill() const { return prompt > 0; }
  std::vector<double> TokensPerSecond() const;
  double Share() const;  // of the ceiling, by the mean of the rates
};

double MeanOf(const std::vector<double>& values);
double DeviationOf(const std::vector<double>& values);  // of a sample; 0 for one value

// What comes before the first row, a row (number `index`), and what comes after the last one.
std::string BenchHead(BenchForm form);
std::string BenchLine(BenchForm form, const BenchRow& row, size_t index);
std::string BenchFoot(BenchForm form);

}  // namespace fg
