#include <gtest/gtest.h>

#include "engine/probe/op_testing.h"
#include "kernels/formats/planes.h"

namespace fg {
namespace {

const std::string kUnwritten(1, '\xA5');

bool AllUnwritten(const std::string& bytes) {
  return !bytes.empty() && bytes.find_first_not_of(kUnwritten) == std::string::npos;
}

TEST_F(Op, QuantizeTilesIsQuantizeRowsTurned) {
  constexpr int64_t kRows = 19, kK = 96;
  Put("x", "f32", {kRows, kK}, Random(kRows * kK, 1));
  const auto turned = Run("quantize_tiles");
  EXPECT_EQ(Labels(turned), "prefill quantize_tiles quantize_tiles 1");
  EXPECT_EQ((*turned)["outputs"]["plane"]["shape"], Json::array({2, 3, 640}));
  EXPECT_EQ((*turned)["outputs"]["plane"]["dtype"], "u8");
  const std::string tiles = Bytes(turned, "plane"), rows = Bytes(Run("quantize_rows"), "plane");
  ASSERT_EQ(tiles.size(), 2u * 3 * 640);
  std::vector<ActivationTile> plane(2 * 3);
  std::memcpy(plane.data(), tiles.data(), tiles.size());
  std::vector<ActivationChunk> chunks(kRows * 3);
  std::memcpy(chunks.data(), rows.data(), rows.size());
  for (int64_t row = 0; row < 32; ++row) {
    for (int64_t c = 0; c < 3; ++c) {
      const ActivationTile& tile = plane[TileIndex(row, c, 3)];
      const ActivationChunk want = row < kRows ? chunks[row * 3 + c] : ActivationChunk{};
      const int r = static_cast<int>(row % kTileRows);
      EXPECT_EQ(tile.d[r], want.d);
      EXPECT_EQ(tile.sum[r][0], want.sum[0]);
      EXPECT_EQ(tile.sum[r][1], want.sum[1]);
      for (int i = 0; i < 32; ++i) EXPECT_EQ(tile.q[i / 4][r][i % 4], want.q[i]);
    }
  }
}

TEST_F(Op, FusedNormGivesThePrepassesPlaneAndInMode2NoRows) {
  constexpr int64_t kRows = 19, kN = 64;
  Put("x", "f32", {kRows, kN}, Random(kRows * kN, 1));
  Put("w", "f32", {kN}, Random(kN, 2));
  request_.params = {{"eps", 1e-5}};
  const auto plain = Run("rms_norm");
  const std::string y = Bytes(plain, "y");
  request_.params["mode"] = 1;
  const auto one = Run("rms_norm_tiles");
  EXPECT_EQ(Labels(one), "prefill rms_norm rms_norm.fuse1 1");
  EXPECT_EQ(Bytes(one, "y"), y);
  const std::string plane = Bytes(one, "plane");
  request_.params["mode"] = 2;
  const auto two = Run("rms_norm_tiles");
  EXPECT_EQ(Labels(two), "prefill rms_norm rms_norm.fuse2 1");
  EXPECT_EQ(Bytes(two, "plane"), plane);
  EXPECT_TRUE(AllUnwritten(Bytes(two, "y")));
  EXPECT_EQ((*two)["outputs"]["y"]["shape"], Json::array({19, 64}));
  EXPECT_EQ((*two)["outputs"]["plane"]["shape"], Json::array({2, 2, 640}));
  EXPECT_FALSE(AllUnwritten(Bytes(Run("rms_norm_tiles", {"FG_FAULT=skip_write_writes"}), "y")));
  EXPECT_NE(Bytes(Run("rms_norm_tiles", {"FG_FAULT=tail_rows_dirty"}), "plane"), plane);
  std::vector<float> rows(kRows * kN);
  std::memcpy(rows.data(), y.data(), y.size());
  request_ = {};
  Put("x", "f32", {kRows, kN}, rows);
  EXPECT_EQ(Bytes(Run("quantize_tiles"), "plane"), plane);
}

TEST_F(Op, FusedSwigluGivesThePrepassesPlaneAndInMode2NoRows) {
  constexpr int64_t kRows = 33, kN = 96;
  Put("g", "f32", {kRows, kN}, Random(kRows * kN, 1));
  Put("u", "f32", {kRows, kN}, Random(kRows * kN, 2));
  const std::string y = Bytes(Run("swiglu"), "y");
  request_.params["mode"] = 1;
  const auto one = Run("swiglu_tiles");
  EXPECT_EQ(Labels(one), "prefill swiglu swiglu.fuse1 1");
  EXPECT_EQ(Bytes(one, "y"), y);
  request_.params["mode"] = 2;
  const auto two = Run("swiglu_tiles");
  EXPECT_EQ(Bytes(two, "plane"), Bytes(one, "plane"));
  EXPECT_TRUE(AllUnwritten(Bytes(two, "y")));
}

TEST_F(Op, TilesRefuseWhatTheyCannotTake) {
  Put("x", "f32", {2, 33}, std::vector<float>(66));
  EXPECT_EQ(Error("quantize_tiles"), "op.inputs.x.shape[1]: must be a multiple of 32, is 33");
  Put("w", "f32", {33}, std::vector<float>(33));
  request_.params = {{"eps", 0}, {"mode", 3}};
  EXPECT_EQ(Error("rms_norm_tiles"), "op.inputs.x.shape[1]: must be a multiple of 32, is 33");
  Put("x", "f32", {2, 32}, std::vector<float>(64));
  EXPECT_EQ(Error("rms_norm_tiles"), "op.inputs.w.shape: must be [32], is [33]");
  Put("w", "f32", {32}, std::vector<float>(32));
  for (const double mode : {0.0, 3.0, 1.5}) {
    request_.params["mode"] = mode;
    EXPECT_EQ(Error("rms_norm_tiles"), "op.params.mode: must be 1 or 2");
  }
  request_.params.erase("mode");
  EXPECT_EQ(Error("rms_norm_tiles"), "op.params.mode: is missing");
}

}  // namespace
}  // namespace fg
