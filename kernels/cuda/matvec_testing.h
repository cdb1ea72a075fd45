// Data and a plain model of the one-row kernels, for their tests. The model follows the words at
// the head of matvec_order.h and no function of it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/cpu/quant_test_data.h"
#include "kernels/cpu/quantize_rows.h"
#include "kernels/cpu/weight_chunk.h"
#include "kernels/cuda/gpu_testing.h"
#include "kernels/cuda/matvec.h"
#include "kernels/cuda/resident_testing.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/encode.h"

namespace fg::cuda {

inline bool IsFloatType(TensorType type) { return InfoOf(type).block_values == 1; }

// [out][RowBytes] as in a file, from seeds.
inline std::vector<uint8_t> FileWeight(TensorType type, int64_t out, int64_t k, uint32_t seed) {
  if (!IsFloatType(type)) return fg::testing::RandomBlocks(type, out, k, seed);
  const std::vector<float> values = fg::testing::Gaussian(out * k, seed);
  std::vector<uint8_t> bytes(static_cast<size_t>(RowBytes(type, out * k)));
  EXPECT_TRUE(EncodeRow(type, values.data(), out * k, bytes.data()));
  return bytes;
}

inline std::vector<float> Inputs(int64_t rows, int64_t k, uint32_t seed) {
  return k < 256 ? fg::testing::Gaussian(rows * k, seed) : fg::testing::Activations(rows, k, seed);
}

inline std::vector<ActivationChunk> PlaneOf(const std::vector<float>& x, int64_t rows, int64_t k) {
  std::vector<ActivationChunk> plane(static_cast<size_t>(rows * (k / 32)));
  QuantizeRows(CpuLevel::kPlain, x.data(), k, rows, k, plane.data());
  return plane;
}

// lane l + lane l ^ step, for steps from half the lanes down to 1.
inline float SumOfLanes(std::vector<float> lanes) {
  for (size_t step = lanes.size() / 2; step > 0; step /= 2) {
    std::vector<float> next(lanes.size());
    for (size_t l = 0; l < lanes.size(); ++l) next[l] = lanes[l] + lanes[l ^ step];
    lanes = next;
  }
  return lanes[0];
}

template <class Chunks>
float QuantizedModel(const uint8_t* row, const ActivationChunk* a, int64_t k, bool swapped) {
  std::vector<float> lanes(16, 0.0f);
  for (int64_t c = 0; c < k / 32; ++c) {
    typename Chunks::Block block;
    std::memcpy(&block, row + c / Chunks::kChunks * static_cast<int64_t>(sizeof(block)),
                sizeof(block));
    WeightChunk w;
    Chunks::Decode(block, static_cast<int>(c % Chunks::kChunks), &w);
    // q6_K: of four chunks the middle two change places.
    const int64_t slot = !swapped ? c : c % 4 == 1 ? c + 1 : c % 4 == 2 ? c - 1 : c;
    float& acc = lanes[static_cast<size_t>(slot % 16)];
    acc = std::fma(static_cast<float>(ChunkDot(w, a[c])), w.ws * a[c].d, acc);
    if (Chunks::kHasMin) {
      acc = std::fma(w.wm, a[c].d * static_cast<float>(a[c].sum[0] + a[c].sum[1]), acc);
    }
  }
  return SumOfLanes(lanes);
}

inline float FloatModel(TensorType type, const uint8_t* row, const float* x, int64_t k) {
  std::vector<float> w(static_cast<size_t>(k));
  EXPECT_TRUE(DequantizeRow(type, row, k, w.data()));
  std::vector<float> lanes(32, 0.0f);
  const int64_t group = type == TensorType::kF32 ? 4 : 8;
  for (int64_t i = 0; i < k; ++i) {
    float& acc = lanes[static_cast<size_t>(i / group % 32)];
    acc = std::fma(w[static_cast<size_t>(i)], x[i], acc);
  }
  return SumOfLanes(lanes);
}

// One output of one row. `row` as in the file; a and x the row's activations in both forms.
inline float ModelOutput(TensorType type, const uint8_t* row, const ActivationChunk* a,
                         const float* x, int64_t k) {
  switch (type) {
    case TensorType::kQ4_0:
      return QuantizedModel<ChunksOfQ4_0>(row, a, k, false);
    case TensorType::kQ5_0:
      return QuantizedModel<ChunksOfQ5_0>(row, a, k, false);
    case TensorType::kQ8_0:
      return QuantizedModel<ChunksOfQ8_0>(row, a, k, false);
    case TensorType::kQ4_K:
      return QuantizedModel<ChunksOfQ4_K>(row, a, k, false);
    case TensorType::kQ6_K:
      return QuantizedModel<ChunksOfQ6_K>(row, a, k, true);
    default:
      return FloatModel(type, row, x, k);
  }
}

// A weight, its inputs and what Matvec makes of them.
struct MatvecCase {
  TensorType type;
  int64_t k, out, rows;
  std::vector<uint8_t> file;
  std::vector<float> x;
  std::vector<ActivationChunk> plane;

  MatvecCase(TensorType t, int64_t k_, int64_t out_, int64_t rows_, uint32_t seed)
      : type(t),
        k(k_),
        out(out_),
        rows(rows_),
        file(FileWeight(t, out_, k_, seed)),
        x(Inputs(rows_, k_, seed + 1)) {
    if (k % 32 == 0) plane = PlaneOf(x, rows, k);
  }

  std::vector<float> Model() const {
    std::vector<float> y;
    const int64_t bytes = RowBytes(type, k);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        y.push_back(ModelOutput(type, file.data() + o * bytes,
                                plane.empty() ? nullptr : plane.data() + r * (k / 32),
                                x.data() + r * k, k));
      }
    }
    return y;
  }
};

// The case's arrays on the device.
struct MatvecOnDevice {
  DeviceArray<uint8_t> w;
  DeviceArray<float> x;
  DeviceArray<ActivationChunk> plane;
  MatvecArgs args;

  explicit MatvecOnDevice(const MatvecCase& c)
      : w(ResidentOf(c.type, c.file, c.out, c.k)), x(c.x), plane(c.plane) {
    args.type = c.type;
    args.w = w.data();
    args.k = c.k;
    args.out = c.out;
    args.rows = c.rows;
    args.plane = plane.data();
    args.x = x.data();
  }
  // [rows][out]
  std::vector<float> Run() {
    DeviceArray<float> y(static_cast<size_t>(args.rows * args.out));
    args.y = y.data();
    ExpectOk(Matvec(args, nullptr), "Matvec");
    return y.Host();
  }
};

inline void ExpectSameValues(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(fg::testing::SameValue(got[i], want[i]))
        << got[i] << " for " << want[i] << " at " << i << " of " << got.size();
  }
}

}  // namespace fg::cuda
