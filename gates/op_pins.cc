#include "gates/op_pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/file.h"

namespace flipgate {
namespace {

using fg::ErrorKind;
using fg::Json;
using fg::Result;
using fg::Status;

fg::Status ReadArrays(const Json& entry, const char* member,
                      std::map<std::string, PinnedArray>* out) {
  const Json arrays = entry.value(member, Json::object());
  for (const auto& [name, array] : arrays.items()) {
    PinnedArray pinned{array.value("file", ""), array.value("dtype", ""),
                       array.value("shape", std::vector<int64_t>{})};
    if (pinned.file.empty() || pinned.file.find('/') != std::string::npos) {
      return Status(ErrorKind::kUsage,
                    fmt::format("{}.{}: must name a file beside the index", member, name));
    }
    (*out)[name] = std::move(pinned);
  }
  return Status::Ok();
}

template <typename T>
Result<std::vector<T>> ReadValues(const OpPins& pins, const PinnedArray& array) {
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(pins.folder + "/" + array.file));
  size_t count = 1;
  for (const int64_t extent : array.shape) count *= static_cast<size_t>(extent);
  if (bytes.size() != count * sizeof(T)) {
    return Status(ErrorKind::kUsage, array.file + ": its size does not fit its shape");
  }
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

bool SameBits(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// By magnitude against float64. A NaN or infinity that the exact result does not hold is a bug.
void Classify(double got, double exact, double noise, double tolerance, OpVerdict* verdict) {
  if (!std::isfinite(exact) || !std::isfinite(got)) {
    const bool same = (std::isnan(exact) && std::isnan(got)) || exact == got;
    same ? ++verdict->noise : ++verdict->bug;
    return;
  }
  const double deviation = std::abs(got - exact);
  if (tolerance > 0) verdict->worst = std::max(verdict->worst, deviation / tolerance);
  if (deviation <= noise) {
    ++verdict->noise;
  } else if (deviation <= tolerance) {
    ++verdict->rounding;
  } else {
    ++verdict->bug;
  }
}

// Of each value, the largest magnitude in its row of the last extent, times `share`.
std::vector<double> RowShares(const std::vector<double>& exact, size_t columns, double share) {
  std::vector<double> limits(exact.size());
  for (size_t row = 0; columns > 0 && row + columns <= exact.size(); row += columns) {
    double largest = 0;
    for (size_t i = row; i < row + columns; ++i) largest = std::max(largest, std::abs(exact[i]));
    std::fill_n(limits.begin() + static_cast<std::ptrdiff_t>(row), columns, share * largest);
  }
  return limits;
}

Status HoldToExact(const OpPins& pins, const OpCase& pinned, const std::string& key,
                   const OpLimit& limit, const std::vector<float>& values, OpVerdict* verdict) {
  const PinnedArray& exact = pinned.exact.at("y");
  FG_ASSIGN_OR_RETURN(const auto truth, ReadValues<double>(pins, exact));
  FG_ASSIGN_OR_RETURN(const auto noise, ReadValues<double>(pins, pinned.noise.at(key)));
  FG_ASSIGN_OR_RETURN(auto tolerance, ReadValues<double>(pins, pinned.tolerance.at(key)));
  if (limit.share > 0) {
    tolerance = RowShares(truth, static_cast<size_t>(exact.shape.back()), limit.share);
  }
  const double factor = limit.bitwise || limit.share > 0 ? 1 : limit.factor;
  for (size_t i = 0; i < values.size(); ++i)
    Classify(values[i], truth[i], noise[i], factor * tolerance[i], verdict);
  return Status::Ok();
}

// Without exact values: NaN, infinite and finite where the model is.
void HoldToForm(const std::vector<float>& values, const std::vector<float>& expected,
                OpVerdict* verdict) {
  for (size_t i = 0; i < values.size(); ++i) {
    const bool both_finite = std::isfinite(values[i]) && std::isfinite(expected[i]);
    if (both_finite || SameBits(values[i], expected[i])) {
      ++verdict->noise;
    } else {
      ++verdict->bug;
    }
  }
}

Result<OpVerdict> JudgeFloats(const OpPins& pins, const OpCase& pinned, const std::string& key,
                              const std::string& got, const OpLimit& limit) {
  FG_ASSIGN_OR_RETURN(const auto expected, ReadValues<float>(pins, pinned.expect.at(key)));
  std::vector<float> values(expected.size());
  std::memcpy(values.data(), got.data(), got.size());
  OpVerdict verdict;
  verdict.values = static_cast<int64_t>(values.size());
  size_t first = values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    if (SameBits(values[i], expected[i])) continue;
    if (verdict.different++ == 0) first = i;
  }
  if (pinned.exact.contains("y") && pinned.tolerance.contains(key) && pinned.noise.contains(key)) {
    FG_RETURN_IF_ERROR(HoldToExact(pins, pinned, key, limit, values, &verdict));
  } else if (!limit.bitwise) {
    HoldToForm(values, expected, &verdict);
  }
  if (limit.bitwise && verdict.different != 0) {
    verdict.fault = fmt::format(
        "{} of {} values differ from the numpy model, first at {}: {:.9g}, the model has {:.9g}",
        verdict.different, verdict.values, first, values[first], expected[first]);
  } else if (verdict.bug != 0) {
    verdict.fault = fmt::format("{} of {} values lie beyond what rounding explains against float64",
                                verdict.bug, verdict.values);
  }
  return verdict;
}

}  // namespace

Result<OpPins> LoadOpPins(const Project& project, const std::string& folder) {
  OpPins pins;
  pins.folder = project.Path(folder);
  FG_ASSIGN_OR_RETURN(const std::string text, fg::ReadFile(pins.folder + "/index.json"));
  FG_ASSIGN_OR_RETURN(const Json index, fg::ParseJson(text, folder + "/index.json"));
  for (const Json& entry : index.value("cases", Json::array())) {
    OpCase pinned;
    pinned.name = entry.value("name", "");
    pinned.op = entry.value("op", "");
    pinned.params = entry.value("params", Json::object());
    FG_RETURN_IF_ERROR(ReadArrays(entry, "inputs", &pinned.inputs).WithContext(pinned.name));
    FG_RETURN_IF_ERROR(ReadArrays(entry, "expect", &pinned.expect).WithContext(pinned.name));
    FG_RETURN_IF_ERROR(ReadArrays(entry, "exact", &pinned.exact).WithContext(pinned.name));
    FG_RETURN_IF_ERROR(ReadArrays(entry, "noise", &pinned.noise).WithContext(pinned.name));
    FG_RETURN_IF_ERROR(ReadArrays(entry, "tolerance", &pinned.tolerance).WithContext(pinned.name));
    if (pinned.expect.empty())
      return Status(ErrorKind::kUsage,
                    folder + "/index.json: case '" + pinned.name + "' expects nothing");
    pins.cases.push_back(std::move(pinned));
  }
  if (pins.cases.empty()) return Status(ErrorKind::kUsage, folder + "/index.json: no case");
  return pins;
}

Result<OpVerdict> JudgeOp(const OpPins& pins, const OpCase& pinned, const std::string& key,
                          const std::string& got, const OpLimit& limit) {
  const PinnedArray& expected = pinned.expect.at(key);
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(pins.folder + "/" + expected.file));
  if (bytes.empty() || got.size() != bytes.size()) {
    OpVerdict verdict;
    verdict.fault =
        fmt::format("the result has {} bytes, {} are expected", got.size(), bytes.size());
    return verdict;
  }
  if (expected.dtype == "f32") return JudgeFloats(pins, pinned, key, got, limit);
  OpVerdict verdict;
  verdict.values = static_cast<int64_t>(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] == got[i]) continue;
    if (verdict.different++ == 0) verdict.fault = fmt::format("first different byte at {}", i);
  }
  if (verdict.different != 0)
    verdict.fault = fmt::format("{} of {} bytes differ from the numpy model, {}", verdict.different,
                                verdict.values, verdict.fault);
  return verdict;
}

}  // namespace flipgate
