#include "engine/probe/op.h"

#include <algorithm>
#include <new>
#include <optional>

#include "base/checked.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_ops.h"
#include "engine/probe/answers.h"
#include "engine/probe/op_inputs.h"

namespace fg {
namespace {

// Rotations are tabulated up to the largest position.
constexpr int32_t kMostPositions = 1 << 20;

struct OpOutput {
  const char* name;
  OpTensor tensor;
};

// What an operation needs at hand.
struct OpCall {
  CpuContext& context;
  const OpInputs& inputs;
  const std::map<std::string, double>& params;

  const OpTensor& input(const char* name) const { return inputs.at(name); }
  bool has(const char* name) const { return inputs.contains(name); }
};

// A result of this shape, not yet computed. Throws bad_alloc where it cannot be held, as the
// allocation itself would.
OpOutput MakeOutput(const char* name, const char* dtype, size_t value_bytes,
                    std::vector<int64_t> shape) {
  std::optional<uint64_t> bytes = value_bytes;
  for (const int64_t size : shape) {
    if (bytes) bytes = CheckedMul(*bytes, static_cast<uint64_t>(size));
  }
  if (!bytes || *bytes > std::string().max_size()) throw std::bad_alloc();
  return {name, {dtype, std::move(shape), std::string(*bytes, '\0')}};
}

float* Values(OpOutput& output) { return reinterpret_cast<float*>(output.tensor.bytes.data()); }

Status SameShape(const std::string& site, const OpTensor& tensor,
                 const std::vector<int64_t>& wanted) {
  if (tensor.shape == wanted) return Status::Ok();
  return OpMistake("inputs." + site + ".shape",
                   "must be " + ShapeText(wanted) + ", is " + ShapeText(tensor.shape));
}

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

Result<OpOutput> QuantizeRowsOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  const int64_t rows = x.dim(0), k = x.dim(1);
  if (k % kBlock32 != 0) {
    return OpMistake("inputs.x.shape[1]", "must be a multiple of 32, is " + std::to_string(k));
  }
  OpOutput plane = MakeOutput("plane", "u8", 1,
                              {rows, k / kBlock32, static_cast<int64_t>(sizeof(ActivationChunk))});
  RunQuantizeRows(call.context, x.f32(), rows, k,
                  reinterpret_cast<ActivationChunk*>(plane.tensor.bytes.data()), PhaseOfRows(rows));
  return plane;
}

Result<OpOutput> MatmulOp(const OpCall& call) {
  const OpTensor& w = call.input("w");
  const OpTensor& x = call.input("x");
  const int64_t rows = x.dim(0), k = w.dim(0), out = w.dim(1);
  FG_RETURN_IF_ERROR(SameShape("x", x, {rows, k}));
  if (call.has("bias")) FG_RETURN_IF_ERROR(SameShape("bias", call.input("bias"), {out}));
  const WeightView view = {"w", FindTensorType(w.dtype)->type, w.bytes.data(), k, out};
  // What a model file would be blamed for is the request's here.
  if (const Status fits = CheckMatmulWeight(view); !fits.ok()) {
    return OpMistake("inputs.w", fits.message());
  }
  OpOutput y = MakeOutput("y", "f32", sizeof(float), {rows, out});
  const float* bias = call.has("bias") ? call.input("bias").f32() : nullptr;
  const Status ran =
      RunMatmulAlone(call.context, view, x.f32(), rows, bias, Values(y), PhaseOfRows(rows));
  if (ran.kind() == ErrorKind::kBadModel) return OpMistake("inputs.w", ran.message());
  FG_RETURN_IF_ERROR(ran);
  return y;
}

Result<OpOutput> RmsNormOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  FG_RETURN_IF_ERROR(SameShape("w", call.input("w"), {x.dim(1)}));
  const double eps = call.params.at("eps");
  if (eps < 0) return OpMistake("params.eps", "must not be negative");
  OpOutput y = MakeOutput("y", "f32", sizeof(float), x.shape);
  RunRmsNorm(call.context, x.f32(), call.input("w").f32(), x.dim(0), x.dim(1),
             static_cast<float>(eps), Values(y), PhaseOfRows(x.dim(0)));
  return y;
}

Result<OpOutput> SwigluOp(const OpCall& call) {
  const OpTensor& g = call.input("g");
  FG_RETURN_IF_ERROR(SameShape("u", call.input("u"), g.shape));
  OpOutput y = MakeOutput("y", "f32", sizeof(float), g.shape);
  RunSwiglu(call.context, g.f32(), call.input("u").f32(), g.dim(0), g.dim(1), Values(y),
            PhaseOfRows(g.dim(0)));
  return y;
}

Result<OpOutput> RopeOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  const OpTensor& positions = call.input("positions");
  const int64_t rows = x.dim(0), head_dim = x.dim(2);
  if (head_dim % 2 != 0) {
    return OpMistake("inputs.x.shape[2]", "must be even, is " + std::to_string(head_dim));
  }
  FG_RETURN_IF_ERROR(CheckPositions(positions, rows, kMostPositions));
  const double base = call.params.at("base");
  if (!(base > 0)) return OpMistake("params.base", "must be above 0");
  int32_t last = 0;
  for (int64_t row = 0; row < rows; ++row) last = std::max(last, positions.i32()[row]);
  const RopeTable table = MakeRopeTable(int64_t{last} + 1, head_dim, base);
  OpOutput y = {"y", x};
  RunRope(call.context, Values(y), rows, x.dim(1), head_dim, positions.i32(), table,
          PhaseOfRows(rows));
  return y;
}

Result<OpOutput> AttentionOp(const OpCall& call) {
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
  const AttentionArgs args = {.q = q.f32(),
                              .ldq = heads * head_dim,
                              .keys = keys.f16(),
                              .values = call.input("values").f16(),
                              .positions = positions.i32(),
                              .rows = rows,
                              .heads = heads,
                              .kv_heads = kv_heads,
                              .head_dim = head_dim,
                              .y = Values(y),
                              .ldy = heads * head_dim};
  FG_RETURN_IF_ERROR(RunAttention(call.context, args, PhaseOfRows(rows)));
  return y;
}

Result<OpOutput> ExpOp(const OpCall& call) {
  const OpTensor& x = call.input("x");
  OpOutput y = MakeOutput("y", "f32", sizeof(float), x.shape);
  RunExp(call.context, x.f32(), x.dim(0), Values(y), Phase::kDecode);
  return y;
}

struct OpEntry {
  OpSpec spec;
  Result<OpOutput> (*run)(const OpCall&);
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
  };
  return table;
}

// What was counted beyond `before`.
Json NewLabels(const std::map<Ledger::DispatchKey, uint64_t>& before,
               std::map<Ledger::DispatchKey, uint64_t> after) {
  for (const auto& [key, count] : before) {
    const auto found = after.find(key);
    if (found != after.end()) found->second -= count;
  }
  std::erase_if(after, [](const auto& entry) { return entry.second == 0; });
  return DispatchJson(after);
}

}  // namespace

std::vector<std::string> OpNames() {
  std::vector<std::string> names;
  for (const OpEntry& entry : OpTable()) names.push_back(entry.spec.name);
  return names;
}

Result<Json> RunOp(const OpRequest& request, const Gates& gates, Ledger* ledger) {
  const OpEntry* entry = nullptr;
  for (const OpEntry& known : OpTable()) {
    if (request.op == known.spec.name) entry = &known;
  }
  if (entry == nullptr) {
    return OpMistake("op",
                     "unknown operation '" + request.op + "'" + DidYouMean(request.op, OpNames()));
  }
  FG_ASSIGN_OR_RETURN(const OpInputs inputs, ReadOpInputs(request, entry->spec));
  FG_RETURN_IF_ERROR(MakeFolders(request.out));
  const auto before = ledger->counts().dispatch;
  MemoryBook memory;  // the operation's own: nothing of it stays
  CpuContext context(gates, ledger, &memory);
  FG_ASSIGN_OR_RETURN(const OpOutput output, entry->run({context, inputs, request.params}));
  const std::string path = request.out + "/" + output.name + ".bin";
  FG_RETURN_IF_ERROR(WriteFileAtomic(path, output.tensor.bytes));
  return Json{{"outputs",
               {{output.name,
                 {{"file", path},
                  {"dtype", output.tensor.dtype},
                  {"shape", output.tensor.shape},
                  {"digest", Sha256Hex(output.tensor.bytes)}}}}},
              {"labels", NewLabels(before, ledger->counts().dispatch)}};
}

}  // namespace fg
