#include "gates/speed_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

#include "base/json.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

Status Usage(std::string message) { return Status(ErrorKind::kUsage, std::move(message)); }

std::string Trimmed(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

Result<std::vector<SpeedSeries>> ReadNumbers(const std::string& text, const std::string& name,
                                             bool seconds) {
  SpeedSeries series = {"values", {}, false};
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string word = Trimmed(line);
    if (word.empty()) continue;
    double value = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool whole = read.ec == std::errc() && read.ptr == word.data() + word.size();
    if (!whole || !std::isfinite(value) || value <= 0) {
      return Usage(fmt::format("{}:{}: '{}' is no number above 0; one measured value a line", name,
                               number, word.substr(0, 40)));
    }
    series.values.push_back(seconds ? 1 / value : value);
  }
  if (series.values.empty()) return Usage(name + ": holds no value");
  return std::vector<SpeedSeries>{std::move(series)};
}

// One entry of llama-bench: a test run by one process.
struct BenchEntry {
  std::string test;
  std::vector<double> samples;
};

Result<BenchEntry> ReadEntry(const Json& json, const std::string& where) {
  fg::JsonFields fields(json, where);
  std::string model;
  int64_t prompt = 0, generated = 0, depth = 0;
  fields.Required("model_type", &model);
  fields.Required("n_prompt", &prompt);
  fields.Required("n_gen", &generated);
  fields.Optional("n_depth", &depth);
  const Json* samples = fields.RequiredArray("samples_ts");
  // llama-bench writes some fifty members beside these: Finish, which refuses them, is not asked.
  if (!fields.ok()) return fields.Finish();
  BenchEntry entry;
  entry.test = model;
  if (prompt > 0) entry.test += fmt::format(" pp{}", prompt);
  if (generated > 0) entry.test += fmt::format("{}tg{}", prompt > 0 ? "+" : " ", generated);
  if (depth > 0) entry.test += fmt::format(" @ d{}", depth);
  for (const Json& sample : *samples) {
    const double value = sample.is_number() ? sample.get<double>() : 0;
    if (!std::isfinite(value) || value <= 0) {
      return Usage(where + ".samples_ts: holds what is no number above 0");
    }
    entry.samples.push_back(value);
  }
  if (entry.samples.empty()) return Usage(where + ".samples_ts: is empty");
  return entry;
}

Result<std::vector<BenchEntry>> ReadEntries(const std::string& text, const std::string& name) {
  std::vector<BenchEntry> entries;
  if (text[text.find_first_not_of(" \t\r\n")] == '[') {
    FG_ASSIGN_OR_RETURN(const Json array, fg::ParseJson(text, name));
    for (size_t i = 0; i < array.size(); ++i) {
      FG_ASSIGN_OR_RETURN(BenchEntry entry, ReadEntry(array[i], fmt::format("{}: [{}]", name, i)));
      entries.push_back(std::move(entry));
    }
    return entries;
  }
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", name, number);
    FG_ASSIGN_OR_RETURN(const Json object, fg::ParseJson(line, where));
    FG_ASSIGN_OR_RETURN(BenchEntry entry, ReadEntry(object, where));
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<SpeedSeries>> ReadBench(const std::string& text, const std::string& name) {
  FG_ASSIGN_OR_RETURN(const std::vector<BenchEntry> entries, ReadEntries(text, name));
  if (entries.empty()) return Usage(name + ": holds no test");
  std::map<std::string, std::vector<const BenchEntry*>> tests;
  std::vector<std::string> order;
  for (const BenchEntry& entry : entries) {
    if (tests[entry.test].empty()) order.push_back(entry.test);
    tests[entry.test].push_back(&entry);
  }
  std::vector<SpeedSeries> all;
  for (const std::string& test : order) {
    SpeedSeries series = {test, {}, tests[test].size() == 1};
    if (series.one_process) {
      series.values = tests[test][0]->samples;
    } else {
      for (const BenchEntry* entry : tests[test]) {
        series.values.push_back(std::accumulate(entry->samples.begin(), entry->samples.end(), 0.0) /
                                static_cast<double>(entry->samples.size()));
      }
    }
    all.push_back(std::move(series));
  }
  return all;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

const SpeedSeries* Find(const std::vector<SpeedSeries>& all, const std::string& name) {
  for (const SpeedSeries& series : all) {
    if (series.name == name) return &series;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<SpeedSeries>> ReadSpeedSamples(const std::string& text, const std::string& name,
                                                  bool seconds) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return Usage(name + ": is empty");
  const bool json = text[first] == '[' || text[first] == '{';
  if (json && seconds) return Usage(name + ": holds tokens per second; leave --seconds out");
  return json ? ReadBench(text, name) : ReadNumbers(text, name, seconds);
}

Result<std::vector<SpeedPair>> PairSpeedSamples(const std::vector<SpeedSeries>& a,
                                                const std::string& a_name,
                                                const std::vector<SpeedSeries>& b,
                                                const std::string& b_name) {
  for (const SpeedSeries& series : b) {
    if (Find(a, series.name) == nullptr) {
      return Usage(fmt::format("'{}' is in {} and not in {}", series.name, b_name, a_name));
    }
  }
  std::vector<SpeedPair> pairs;
  for (const SpeedSeries& left : a) {
    const SpeedSeries* right = Find(b, left.name);
    if (right == nullptr) {
      return Usage(fmt::format("'{}' is in {} and not in {}", left.name, a_name, b_name));
    }
    if (left.values.size() != right->values.size()) {
      return Usage(
          fmt::format("'{}': {} holds {} values and {} holds {}; a unit is one of each, "
                      "measured side by side",
                      left.name, a_name, left.values.size(), b_name, right->values.size()));
    }
    SpeedPair pair;
    pair.name = left.name;
    pair.one_process = left.one_process || right->one_process;
    for (size_t i = 0; i < left.values.size(); ++i) {
      pair.units.push_back(std::log(right->values[i] / left.values[i]));
    }
    pair.median_a = Median(left.values);
    pair.median_b = Median(right->values);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace flipgate
