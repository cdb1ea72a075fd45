#include "kernels/cpu/attention_reference.h"
#include "kernels/cpu/quantize_rows_reference.h"
#include "kernels/cuda/attention_testing.h"

namespace fg::cuda {
namespace {

constexpr double kRounding = 0x1p-20;  // f32: a dot's chain and tree, ex2.approx
constexpr uint16_t kHalfInfinity = 0x7C00, kHalfNan = 0x7E00;

// Scratch as its owner takes it: the least that is asked for, zeroed once.
struct Scratch {
  Scratch(int64_t rows, const AttentionShape& shape, int64_t length)
      : bytes(std::vector<uint8_t>(static_cast<size_t>(
            AttentionFewScratch(rows, shape.heads, shape.kv_heads, shape.head_dim, length)))) {}
  DeviceArray<uint8_t> bytes;
};

std::vector<float> RunRows(const AttentionOnDevice& device, int64_t begin, int64_t end,
                           int64_t bucket) {
  AttentionArgs args = device.Args(begin, end);
  DeviceArray<float> y(static_cast<size_t>((end - begin) * device.problem.Width()));
  Scratch scratch(end - begin, device.problem.shape, bucket);
  args.y = y.data();
  args.scratch = scratch.bytes.data();
  ExpectOk(AttentionFew(args, bucket, nullptr), "AttentionFew");
  return y.Host();
}

std::vector<float> RunAll(const AttentionProblem& problem) {
  const AttentionOnDevice device(problem);
  return RunRows(device, 0, problem.rows, AttentionBucket(problem.Length()));
}

// Each number of rows at each prefix, the shapes taken in turn.
void ExpectAllAgree(int64_t head_dim) {
  const AttentionShape shapes[] = {{4, 2, head_dim},  {5, 1, head_dim},  {14, 2, head_dim},
                                   {28, 4, head_dim}, {12, 2, head_dim}, {3, 3, head_dim},
                                   {16, 1, head_dim}};
  size_t turn = 0;
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}) {
    for (const int64_t first : {0, 1, 15, 255, 256, 257, 1000, 3313}) {
      const AttentionProblem problem(shapes[turn++ % 7], rows, first);
      ExpectExact(problem, RunAll(problem), kRounding, 0.0);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(AttentionFew, AgreesWithExactAt64) { ExpectAllAgree(64); }
TEST(AttentionFew, AgreesWithExactAt128) { ExpectAllAgree(128); }

TEST(AttentionFew, AgreesWithExactAtOtherHeadDims) {
  for (const int64_t dim : {2, 6, 32, 80, 96, 126, 256}) {
    for (const int64_t first : {0, 31, 32, 300, 2000}) {
      for (const int64_t rows : {1, 3}) {
        const AttentionProblem problem({dim % 3 == 0 ? 5 : 4, 1, dim}, rows, first);
        ExpectExact(problem, RunAll(problem), kRounding, 0.0);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

// Every length of the smallest bucket, so every tail of a part and of a batch.
TEST(AttentionFew, AgreesAtEachLength) {
  for (const int64_t dim : {64, 128}) {
    const AttentionProblem problem({7, 1, dim}, 256, 0);
    const AttentionOnDevice device(problem);
    const std::vector<float> y = RunRows(device, 0, 256, 256);
    for (int64_t row = 0; row < 256; ++row) {
      ExpectHeadIsExact(problem, y, row, row % 7, kRounding, 0.0);
    }
  }
}

TEST(AttentionFew, RefusesWhatItDoesNotServe) {
  const AttentionProblem problem({4, 2, 64}, 1, 3);
  const AttentionOnDevice device(problem);
  DeviceArray<float> y(256);
  Scratch scratch(1, problem.shape, 256);
  AttentionArgs good = device.Args(0, 1);
  good.y = y.data();
  good.scratch = scratch.bytes.data();
  EXPECT_EQ(AttentionFew(good, 256, nullptr), cudaSuccess);
  const auto refused = [&](auto change) {
    AttentionArgs args = good;
    change(args);
    return AttentionFew(args, 256, nullptr) == cudaErrorInvalidValue;
  };
  EXPECT_TRUE(refused([](AttentionArgs& a) { a.head_dim = 63; }));
  EXPECT_TRUE(refused([](AttentionArgs& a) { a.head_dim = 258; }));
  EXPECT_TRUE(refused([](AttentionArgs& a) { a.heads = 3; }));
  EXPECT_TRUE(refused([](AttentionArgs& a) { a.scratch = nullptr; }));
  EXPECT_TRUE(refused([](AttentionArgs& a) { a.y = nullptr; }));
  EXPECT_EQ(AttentionFew(good, 0, nullptr), cudaErrorInvalidValue);
  ExpectOk(cudaDeviceSynchronize(), "the good one");
}

TEST(AttentionFew, ARowHasTheBitsThatItHasAlone) {
  for (const int64_t dim : {64, 96, 128}) {
    const AttentionProblem problem({14, 2, dim}, 15, 490);
    const AttentionOnDevice device(problem);
    const std::vector<float> whole = RunRows(device, 0, 15, 640);
    for (int64_t row = 0; row < 15; ++row) {
      const std::vector<float> among(
          whole.begin() + static_cast<std::ptrdiff_t>(problem.At(row, 0, 0)),
          whole.begin() + static_cast<std::ptrdiff_t>(problem.At(row + 1, 0, 0)));
      EXPECT_EQ(FirstOtherBits(among, RunRows(device, row, row + 1, 640)), "") << row;
    }
  }
}

TEST(AttentionFew, EachBucketAgreesAndRepeatsItsBits) {
  const AttentionProblem problem({28, 4, 128}, 2, 700);
  const AttentionOnDevice device(problem);
  for (const int64_t bucket : {702, 768, 1024, 3584, 33000}) {
    const std::vector<float> y = RunRows(device, 0, 2, bucket);
    ExpectExact(problem, y, kRounding, 0.0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(FirstOtherBits(y, RunRows(device, 0, 2, bucket)), "");
  }
}

// More rows than a launch takes.
TEST(AttentionFew, TakesRowsInSlices) {
  const AttentionProblem problem({4, 2, 32}, 150, 20);
  ExpectExact(problem, RunAll(problem), kRounding, 0.0);
}

TEST(AttentionFew, TakesKeysThatAreNotAligned) {
  const AttentionProblem problem({4, 2, 64}, 3, 90);
  const AttentionOnDevice device(problem);
  std::vector<uint16_t> keys = problem.keys, values = problem.values;
  keys.insert(keys.begin(), 3, kHalfNan);
  values.insert(values.begin(), 5, kHalfNan);
  const DeviceArray<uint16_t> odd_keys(keys), odd_values(values);
  DeviceArray<float> y(problem.q.size());
  Scratch scratch(3, problem.shape, 256);
  AttentionArgs args = device.Args(0, 3);
  args.keys = odd_keys.data() + 3;
  args.values = odd_values.data() + 5;
  args.y = y.data();
  args.scratch = scratch.bytes.data();
  ExpectOk(AttentionFew(args, 256, nullptr), "AttentionFew");
  ExpectExact(problem, y.Host(), kRounding, 0.0);
}

bool AreEqual(const ActivationChunk& a, const ActivationChunk& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

TEST(AttentionFew, WritesTheChunksOfItsRows) {
  for (const int64_t dim : {32, 64, 96, 128}) {
    AttentionProblem problem({14, 2, dim}, 5, 300);
    problem.values[problem.KvAt(302, 1, 3)] = kHalfNan;  // a chunk that is not finite
    const AttentionOnDevice device(problem);
    const size_t count = problem.q.size() / 32;
    DeviceArray<float> y(problem.q.size());
    DeviceArray<ActivationChunk> beside(count), alone(count);
    Scratch scratch(5, problem.shape, 320);
    AttentionArgs args = device.Args(0, 5);
    args.scratch = scratch.bytes.data();
    args.chunks = alone.data();
    ExpectOk(AttentionFew(args, 320, nullptr), "chunks");
    args.y = y.data();
    args.chunks = beside.data();
    ExpectOk(AttentionFew(args, 320, nullptr), "both");
    const std::vector<float> rows = y.Host();
    std::vector<ActivationChunk> expected(count);
    QuantizeRowsContract(rows.data(), problem.Width(), 5, problem.Width(), expected.data());
    const std::vector<ActivationChunk> a = alone.Host(), b = beside.Host();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(AreEqual(a[i], expected[i])) << dim << ", chunk " << i;
      ASSERT_TRUE(AreEqual(b[i], expected[i])) << dim << ", chunk " << i;
    }
  }
}

// NaN and infinity where the CPU's formula has them.
void ExpectKindsOfTheFormula(const AttentionProblem& problem) {
  std::vector<float> expected(problem.q.size());
  fg::AttentionContract({problem.q.data(), problem.Width(), problem.keys.data(),
                         problem.values.data(), problem.positions.data(), problem.rows,
                         problem.shape.heads, problem.shape.kv_heads, problem.shape.head_dim,
                         expected.data(), problem.Width()});
  const std::vector<float> y = RunAll(problem);
  for (size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(std::isnan(y[i]), std::isnan(expected[i])) << problem.Text() << ", at " << i;
    ASSERT_EQ(std::isinf(y[i]), std::isinf(expected[i])) << problem.Text() << ", at " << i;
    if (std::isfinite(y[i])) {
      ASSERT_NEAR(y[i], expected[i], 1e-3f + 1e-4f * std::abs(expected[i]));
    } else {
      // The sign of a NaN that 0 * inf makes is the processor's; here there is one NaN.
      ASSERT_TRUE(std::isnan(y[i]) || y[i] == expected[i]) << problem.Text() << ", at " << i;
      ASSERT_TRUE(std::isinf(y[i]) || std::bit_cast<uint32_t>(y[i]) == 0x7FC00000u);
    }
  }
}

TEST(AttentionFew, NanAndInfinityTakeTheFormula) {
  for (const int64_t dim : {64, 80, 128}) {
    AttentionProblem problem({14, 2, dim}, 9, 60);
    problem.q[problem.At(4, 9, 11)] = std::numeric_limits<float>::quiet_NaN();
    problem.q[problem.At(5, 0, 2)] = std::numeric_limits<float>::infinity();
    problem.keys[problem.KvAt(63, 1, 5)] = kHalfNan;  // rows from position 63 on, kv head 1
    problem.values[problem.KvAt(10, 0, 7)] = kHalfInfinity;
    problem.values[problem.KvAt(66, 0, 8)] = kHalfInfinity | 0x8000;
    ExpectKindsOfTheFormula(problem);
    for (const uint16_t all : {kHalfInfinity, uint16_t{0xFC00}}) {
      AttentionProblem infinite({2, 1, dim}, 3, 40);
      for (float& q : infinite.q) q = std::abs(q) + 0.1f;
      infinite.keys.assign(infinite.keys.size(), all);
      ExpectKindsOfTheFormula(infinite);
      // The whole first part -inf, the next finite.
      AttentionProblem some({2, 1, dim}, 3, 60);
      for (float& q : some.q) q = std::abs(q) + 0.1f;
      std::fill_n(some.keys.begin(), 32 * dim, all);
      ExpectKindsOfTheFormula(some);
    }
  }
}

TEST(AttentionFew, LargeQueriesStayFinite) {
  AttentionProblem problem({4, 2, 128}, 3, 100, 1e-3f);
  for (int64_t row = 0; row < 3; ++row) problem.q[problem.At(row, row, 5)] = 70000.0f;
  for (int64_t i = 0; i < problem.Length(); ++i) {
    for (int64_t kv = 0; kv < 2; ++kv) problem.keys[problem.KvAt(i, kv, 5)] = 0x0001 + i % 7;
  }
  ExpectExact(problem, RunAll(problem), kRounding, 0.0);
}

// One scratch for calls of different shapes and buckets: what a call leaves does not disturb.
TEST(AttentionFew, LeavesScratchReadyForTheNextCall) {
  const AttentionProblem big({28, 4, 128}, 15, 900), small({3, 3, 64}, 2, 40);
  const AttentionOnDevice big_device(big), small_device(small);
  const std::vector<float> big_y = RunRows(big_device, 0, 15, 1024);
  const std::vector<float> small_y = RunRows(small_device, 0, 2, 256);
  Scratch scratch(15, big.shape, 1024);
  DeviceArray<float> y(big.q.size()), z(small.q.size());
  for (int i = 0; i < 4; ++i) {
    AttentionArgs args = big_device.Args(0, 15);
    args.y = y.data();
    args.scratch = scratch.bytes.data();
    ExpectOk(AttentionFew(args, 1024, nullptr), "big");
    args = small_device.Args(0, 2);
    args.y = z.data();
    args.scratch = scratch.bytes.data();
    ExpectOk(AttentionFew(args, 256, nullptr), "small");
    EXPECT_EQ(FirstOtherBits(big_y, y.Host()), "") << i;
    EXPECT_EQ(FirstOtherBits(small_y, z.Host()), "") << i;
  }
}

// A captured step reads the position on the device: other positions, same graph.
TEST(AttentionFew, ReplaysAtOtherPositions) {
  const AttentionProblem problem({28, 4, 128}, 200, 0);
  const AttentionOnDevice device(problem);
  const std::vector<float> eager = RunRows(device, 0, 200, 256);
  DeviceArray<float> y(static_cast<size_t>(problem.Width())), q(y.size());
  DeviceArray<int32_t> position(1);
  Scratch scratch(1, problem.shape, 256);
  AttentionArgs args = device.Args(0, 1);
  args.q = q.data();
  args.y = y.data();
  args.positions = position.data();
  args.scratch = scratch.bytes.data();
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  ExpectOk(cudaStreamCreate(&stream), "stream");
  ExpectOk(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "begin");
  ExpectOk(AttentionFew(args, 256, stream), "AttentionFew");
  ExpectOk(cudaStreamEndCapture(stream, &graph), "end");
  ExpectOk(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
  for (const int64_t row : {0, 31, 32, 100, 199, 5}) {
    const size_t bytes = y.size() * sizeof(float);
    ExpectOk(cudaMemcpy(q.data(), problem.q.data() + problem.At(row, 0, 0), bytes,
                        cudaMemcpyHostToDevice),
             "q");
    ExpectOk(cudaMemcpy(position.data(), &problem.positions[static_cast<size_t>(row)], 4,
                        cudaMemcpyHostToDevice),
             "position");
    ExpectOk(cudaGraphLaunch(replay, stream), "replay");
    const std::vector<float> expected(
        eager.begin() + static_cast<std::ptrdiff_t>(problem.At(row, 0, 0)),
        eager.begin() + static_cast<std::ptrdiff_t>(problem.At(row + 1, 0, 0)));
    EXPECT_EQ(FirstOtherBits(expected, y.Host()), "") << row;
  }
  ExpectOk(cudaGraphExecDestroy(replay), "replay");
  ExpectOk(cudaGraphDestroy(graph), "graph");
  ExpectOk(cudaStreamDestroy(stream), "stream");
}

}  // namespace
}  // namespace fg::cuda
