// The inputs of the probe's `op`: read whole and held against their dtype and shape.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/probe/requests.h"

namespace fg {

struct OpTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;  // raw, little-endian

  int64_t dim(size_t i) const { return shape[i]; }
  const float* f32() const { return reinterpret_cast<const float*>(bytes.data()); }
  const int32_t* i32() const { return reinterpret_cast<const int32_t*>(bytes.data()); }
  const uint16_t* f16() const { return reinterpret_cast<const uint16_t*>(bytes.data()); }
};
using OpInputs = std::map<std::string, OpTensor>;

// What an operation takes under one name. A dtype of "weight" is any tensor type, with the shape
// innermost first.
struct OpInputSpec {
  const char* name;
  const char* dtype;
  size_t rank;
  bool required = true;
};
struct OpSpec {
  const char* name;
  std::vector<OpInputSpec> inputs;
  std::vector<const char*> params;  // all required
};

// kUsage for an input or parameter that is missing, unknown or of another dtype, rank or size.
Result<OpInputs> ReadOpInputs(const OpRequest& request, const OpSpec& spec);

// kUsage "op.SITE: message".
Status OpMistake(const std::string& site, const std::string& message);

// "[2, 3]"
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace fg
