#include "kernels/cpu/matvec_reference.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "kernels/formats/dequantize.h"

namespace fg {
namespace {

std::vector<float> WeightRow(TensorType type, const void* w, int64_t k, int64_t out) {
  std::vector<float> row(static_cast<size_t>(k));
  const uint8_t* bytes = static_cast<const uint8_t*>(w) + out * RowBytes(type, k);
  if (!DequantizeRow(type, bytes, k, row.data())) std::abort();
  return row;
}

}  // namespace

void MatvecFloatContract(TensorType type, const void* w, const float* x, int64_t k,
                         const float* bias, Range outs, float* y) {
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    const std::vector<float> row = WeightRow(type, w, k, o);
    float lane[16];
    for (int l = 0; l < 16; ++l) {
      lane[l] = 0;
      for (int64_t i = l; i < k; i += 16) lane[l] = std::fma(row[i], x[i], lane[l]);
    }
    for (int l = 0; l < 8; ++l) lane[l] = lane[l] + lane[l + 8];
    for (int l = 0; l < 4; ++l) lane[l] = lane[l] + lane[l + 4];
    for (int l = 0; l < 2; ++l) lane[l] = lane[l] + lane[l + 2];
    y[o] = lane[0] + lane[1];
    if (bias != nullptr) y[o] = y[o] + bias[o];
  }
}

void MatvecFloatExact(TensorType type, const void* w, const float* x, int64_t k, const float* bias,
                      Range outs, double* value, double* magnitude) {
  for (int64_t o = outs.begin; o < outs.end; ++o) {
    const std::vector<float> row = WeightRow(type, w, k, o);
    value[o] = bias != nullptr ? bias[o] : 0;
    magnitude[o] = 0;
    for (int64_t i = 0; i < k; ++i) {
      const double product = static_cast<double>(row[i]) * x[i];
      value[o] += product;
      magnitude[o] += std::fabs(product);
    }
  }
}

}  // namespace fg
