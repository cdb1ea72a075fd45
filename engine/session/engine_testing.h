// What the engine's tests share: two models and comparisons that NaN fails.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/testing/test_engine.h"
#include "engine/testing/tiny_model.h"

namespace fg::testing {

using Environment = std::vector<std::string>;
inline const Environment kNibble = {"FG_MMQ=1", "FG_MMQ_RAW=1", "FG_MMQ_RAW_NB=1"};

// As quantize's q4_K_M: q4_K, with q6_K where it matters.
inline TinyModelSpec MixedSpec() {
  TinyModelSpec spec = WideSpec(TensorType::kQ4_K);
  spec.types = {{"attn_v.weight", TensorType::kQ6_K}, {"output.weight", TensorType::kQ6_K}};
  // It ends like the output does, and comes before it in the map.
  spec.types.insert({"attn_output.weight", TensorType::kQ4_K});
  return spec;
}

// The models are made once: encoding them takes longer than running them.
inline const std::string& MixedModel() {
  static const std::string path = WriteTinyModel(MixedSpec());
  return path;
}
inline const std::string& NarrowModel() {
  static const std::string path = WriteTinyModel({});
  return path;
}

inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return !a.empty() && a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline bool AllFinite(const std::vector<float>& values) {
  for (const float value : values) {
    if (!std::isfinite(value)) return false;
  }
  return !values.empty();
}

inline Environment With(Environment environment, const std::string& more) {
  environment.push_back(more);
  return environment;
}

inline double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return std::nan("");
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::nan("");
    largest = std::max(largest, std::fabs(double{a[i]} - double{b[i]}));
  }
  return largest;
}

}  // namespace fg::testing
