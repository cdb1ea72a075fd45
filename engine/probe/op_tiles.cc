// The operations that make tiled activation planes.
#include <utility>

#include "engine/probe/op_call.h"
#include "kernels/formats/planes.h"

namespace fg {
namespace {

constexpr char kUnwritten = static_cast<char>(0xA5);

OpOutput MakePlane(int64_t rows, int64_t k) {
  return MakeOutput("plane", "u8", 1,
                    {TileCount(rows), k / kBlock32, static_cast<int64_t>(sizeof(ActivationTile))},
                    kUnwritten);
}

ActivationTile* Tiles(OpOutput& plane) {
  return reinterpret_cast<ActivationTile*>(plane.tensor.bytes.data());
}

Status CheckWidth(const char* input, int64_t k) {
  if (k % kBlock32 == 0) return Status::Ok();
  return OpMistake(std::string("inputs.") + input + ".shape[1]",
                   "must be a multiple of 32, is " + std::to_string(k));
}

Result<int> ModeOf(const OpCall& call) {
  const double mode = call.params.at("mode");
  if (mode == 1 || mode == 2) return static_cast<int>(mode);
  return OpMistake("params.mode", "must be 1 or 2");
}

OpOutputs Both(OpOutput y, OpOutput plane) {
  OpOutputs outputs;
  outputs.push_back(std::move(y));
  outputs.push_back(std::move(plane));
  return outputs;
}

}  // namespace

Result<OpOutputs> QuantizeTilesOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  const int64_t rows = x.dim(0), k = x.dim(1);
  FG_RETURN_IF_ERROR(CheckWidth("x", k));
  OpOutput plane = MakePlane(rows, k);
  FG_RETURN_IF_ERROR(call.operations.QuantizeTiles(x.f32(), rows, k, Tiles(plane)));
  return OpOutputs{std::move(plane)};
}

Result<OpOutputs> RmsNormTilesOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  const int64_t rows = x.dim(0), n = x.dim(1);
  FG_RETURN_IF_ERROR(CheckWidth("x", n));
  FG_RETURN_IF_ERROR(SameShape("w", call.input("w"), {n}));
  const double eps = call.params.at("eps");
  if (eps < 0) return OpMistake("params.eps", "must not be negative");
  FG_ASSIGN_OR_RETURN(const int mode, ModeOf(call));
  OpOutput y = MakeOutput("y", "f32", sizeof(float), x.shape, kUnwritten);
  OpOutput plane = MakePlane(rows, n);
  FG_RETURN_IF_ERROR(call.operations.RmsNormTiles(x.f32(), call.input("w").f32(), rows, n,
                                                  static_cast<float>(eps), mode, y.f32(),
                                                  Tiles(plane)));
  return Both(std::move(y), std::move(plane));
}

Result<OpOutputs> SwigluTilesOp(const OpCall& call) {
  const OpTensor& g = call.input("g");
  const int64_t rows = g.dim(0), n = g.dim(1);
  FG_RETURN_IF_ERROR(CheckWidth("g", n));
  FG_RETURN_IF_ERROR(SameShape("u", call.input("u"), g.shape));
  FG_ASSIGN_OR_RETURN(const int mode, ModeOf(call));
  OpOutput y = MakeOutput("y", "f32", sizeof(float), g.shape, kUnwritten);
  OpOutput plane = MakePlane(rows, n);
  FG_RETURN_IF_ERROR(call.operations.SwigluTiles(g.f32(), call.input("u").f32(), rows, n, mode,
                                                 y.f32(), Tiles(plane)));
  return Both(std::move(y), std::move(plane));
}

}  // namespace fg
