#include "engine/probe/op.h"

#include <algorithm>
#include <utility>

#include "base/nearest.h"
#include "engine/probe/op_call.h"

namespace fg {
namespace {

// Rotations are tabulated up to the largest position.
constexpr int32_t kMostPositions = 1 << 20;

// Every position in [0, end).
Status CheckPositions(const OpTensor& positions, int64_t rows, int64_t end) {
  FG_RETURN_IF_ERROR(SameShape("positions", positions, {rows}));
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t position = positions.i32()[row];
    if (position >= 0 && position < end) continue;
    return OpMistake("inputs.positions", "position " + std::to_string(position) + " of row " +
                                             std::to_string(row) + " is outside 0 to " +
                                             std::to_string(end - 1));
  }
  return Status::Ok();
}

Result<OpOutputs> QuantizeRowsOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  const int64_t rows = x.dim(0), k = x.dim(1);
  if (k % kBlock32 != 0) {
    return OpMistake("inputs.x.shape[1]", "must be a multiple of 32, is " + std::to_string(k));
  }
  OpOutput plane = MakeOutput("plane", "u8", 1,
                              {rows, k / kBlock32, static_cast<int64_t>(sizeof(ActivationChunk))});
  FG_RETURN_IF_ERROR(call.operations.QuantizeRows(
      x.f32(), rows, k, reinterpret_cast<ActivationChunk*>(plane.tensor.bytes.data())));
  return OpOutputs{std::move(plane)};
}

Result<OpOutputs> MatmulOp(const OpCall& call) {
  const OpTensor& w = call.input("w");
  const OpTensor& x = call.input("x");
  const int64_t rows = x.dim(0), k = w.dim(0), out = w.dim(1);
  FG_RETURN_IF_ERROR(SameShape("x", x, {rows, k}));
  if (call.has("bias")) FG_RETURN_IF_ERROR(SameShape("bias", call.input("bias"), {out}));
  const WeightView view = {"w", FindTensorType(w.dtype)->type, w.bytes.data(), k, out};
  OpOutput y = MakeOutput("y", "f32", sizeof(float), {rows, out});
  const float* bias = call.has("bias") ? call.input("bias").f32() : nullptr;
  const Status ran = call.operations.Matmul(view, x.f32(), rows, bias, y.f32());
  // What a model file would be blamed for is the request's here.
  if (ran.kind() == ErrorKind::kBadModel) return OpMistake("inputs.w", ran.message());
  FG_RETURN_IF_ERROR(ran);
  return OpOutputs{std::move(y)};
}

Result<OpOutputs> RmsNormOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  FG_RETURN_IF_ERROR(SameShape("w", call.input("w"), {x.dim(1)}));
  const double eps = call.params.at("eps");
  if (eps < 0) return OpMistake("params.eps", "must not be negative");
  OpOutput y = MakeOutput("y", "f32", sizeof(float), x.shape);
  FG_RETURN_IF_ERROR(call.operations.RmsNorm(x.f32(), call.input("w").f32(), x.dim(0), x.dim(1),
                                             static_cast<float>(eps), y.f32()));
  return OpOutputs{std::move(y)};
}

Result<OpOutputs> SwigluOp(const OpCall& call) {
  const OpTensor& g = call.input("g");
  FG_RETURN_IF_ERROR(SameShape("u", call.input("u"), g.shape));
  OpOutput y = MakeOutput("y", "f32", sizeof(float), g.shape);
  FG_RETURN_IF_ERROR(
      call.operations.Swiglu(g.f32(), call.input("u").f32(), g.dim(0), g.dim(1), y.f32()));
  return OpOutputs{std::move(y)};
}

Result<OpOutputs> RopeOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  const OpTensor& positions = call.input("positions");
  const int64_t rows = x.dim(0), head_dim = x.dim(2);
  if (head_dim % 2 != 0) {
    return OpMistake("inputs.x.shape[2]", "must be even, is " + std::to_string(head_dim));
  }
  FG_RETURN_IF_ERROR(CheckPositions(positions, rows, kMostPositions));
  const double base = call.params.at("base");
  if (!(base > 0)) return OpMistake("params.base", "must be above 0");
  OpOutput y = {"y", x};
  FG_RETURN_IF_ERROR(
      call.operations.Rope(y.f32(), rows, x.dim(1), head_dim, positions.i32(), base));
  return OpOutputs{std::move(y)};
}

Result<OpOutputs> AttentionOp(const OpCall& call) {
  const OpTensor& q = call.input("q");
  const OpTensor& keys = call.input("keys");
  const int64_t rows = q.dim(0), heads = q.dim(1), head_dim = q.dim(2), kv_heads = keys.dim(1);
  FG_RETURN_IF_ERROR(SameShape("keys", keys, {keys.dim(0), kv_heads, head_dim}));
  FG_RETURN_IF_ERROR(SameShape("values", call.input("values"), keys.shape));
  if (heads % kv_heads != 0) {
    return OpMistake("inputs.q.shape[1]", std::to_string(heads) + " heads are no multiple of " +
                                              std::to_string(kv_heads) + " kv heads");
  }
  const OpTensor& positions = call.input("positions");
  FG_RETURN_IF_ERROR(CheckPositions(positions, rows, keys.dim(0)));
  OpOutput y = MakeOutput("y", "f32", sizeof(float), q.shape);
  const AttentionShape shape = {rows, heads, kv_heads, head_dim, keys.dim(0)};
  FG_RETURN_IF_ERROR(call.operations.Attention(
      shape, q.f32(), keys.f16(), call.input("values").f16(), positions.i32(), y.f32()));
  return OpOutputs{std::move(y)};
}

Result<OpOutputs> ExpOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  OpOutput y = MakeOutput("y", "f32", sizeof(float), x.shape);
  FG_RETURN_IF_ERROR(call.operations.Exp(x.f32(), x.dim(0), y.f32()));
  return OpOutputs{std::move(y)};
}

struct OpEntry {
  OpSpec spec;
  Result<OpOutputs> (*run)(const OpCall&);
};

const std::vector<OpEntry>& OpTable() {
  static const std::vector<OpEntry> table = {
      {{"quantize_rows", {{"x", "f32", 2}}, {}}, QuantizeRowsOp},
      {{"matmul", {{"w", "weight", 2}, {"x", "f32", 2}, {"bias", "f32", 1, false}}, {}}, MatmulOp},
      {{"rms_norm", {{"x", "f32", 2}, {"w", "f32", 1}}, {"eps"}}, RmsNormOp},
      {{"swiglu", {{"g", "f32", 2}, {"u", "f32", 2}}, {}}, SwigluOp},
      {{"rope", {{"x", "f32", 3}, {"positions", "i32", 1}}, {"base"}}, RopeOp},
      {{"attention",
        {{"q", "f32", 3}, {"keys", "f16", 3}, {"values", "f16", 3}, {"positions", "i32", 1}},
        {}},
       AttentionOp},
      {{"exp", {{"x", "f32", 1}}, {}}, ExpOp},
      {{"quantize_tiles", {{"x", "f32", 2}}, {}}, QuantizeTilesOp},
      {{"rms_norm_tiles", {{"x", "f32", 2}, {"w", "f32", 1}}, {"eps", "mode"}}, RmsNormTilesOp},
      {{"swiglu_tiles", {{"g", "f32", 2}, {"u", "f32", 2}}, {"mode"}}, SwigluTilesOp},
  };
  return table;
}

}  // namespace

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (const OpEntry& entry : OpTable()) names.push_back(entry.spec.name);
  names.push_back("forward");  // op_forward.h
  return names;
}

Result<Json> RunOp(const OpRequest& request, const Device& device, const Gates& gates,
                   Ledger* ledger) {
  const OpEntry* entry = nullptr;
  for (const OpEntry& known : OpTable()) {
    if (request.op == known.spec.name) entry = &known;
  }
  if (entry == nullptr) {
    return OpMistake("op",
                     "unknown operation '" + request.op + "'" + DidYouMean(request.op, OpNames()));
  }
  FG_ASSIGN_OR_RETURN(const OpInputs inputs, ReadOpInputs(request, entry->spec));
  const auto before = ledger->counts().dispatch;
  MemoryBook memory;  // the operation's own: nothing of it stays
  FG_ASSIGN_OR_RETURN(const std::unique_ptr<Operations> operations,
                      device.NewOperations(gates, ledger, &memory));
  FG_ASSIGN_OR_RETURN(const OpOutputs outputs, entry->run({*operations, inputs, request.params}));
  FG_ASSIGN_OR_RETURN(Json written, WriteOutputs(outputs, request.out));
  return Json{{"outputs", std::move(written)},
              {"labels", NewLabels(before, ledger->counts().dispatch)}};
}

}  // namespace fg
