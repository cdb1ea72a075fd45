// What a kind of evidence works with: the matrix, engines, models and files of one cell's run.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "gates/engine_pool.h"
#include "gates/evidence.h"
#include "gates/matrix.h"
#include "gates/model_store.h"
#include "gates/project.h"
#include "gates/runner.h"

namespace flipgate {

// kReference: head's program on another class, by that class's probe words.
enum class Arm { kHead, kSnapshot, kReference };
const char* ArmName(Arm arm);  // "head", "snapshot", "reference"

// A gate as an engine's hello tells it.
struct HelloGate {
  std::string name, stage, bits, value;
  std::vector<std::string> needs;
  std::string kind = "switch";     // or "mode"
  std::vector<std::string> modes;  // of a mode gate
};
std::vector<HelloGate> HelloGates(const fg::Json& hello);

// Shared by all cells of one run. Immutable but for pool and models, which lock themselves.
struct RunState {
  const RunOptions* options = nullptr;
  std::vector<HelloGate> head_gates;      // with nothing set
  std::vector<HelloGate> snapshot_gates;  // empty where there is no snapshot
  std::vector<std::string> levels;        // instruction-set levels of this processor, ascending
  EnginePool* pool = nullptr;
  ModelStore* models = nullptr;
};

// One use of an engine by a cell. An ask that does not end in an answer becomes the cell's outcome:
// the failed Status only passes it up.
class RunContext;
class CellEngine {
 public:
  CellEngine(RunContext* context, EngineLease lease)
      : context_(context), lease_(std::move(lease)) {}
  // The answer. Anything else is remembered by the context as the cell's outcome.
  fg::Result<fg::Json> Ask(const fg::Json& request);
  // The answer or the refusal, for cells that expect one.
  fg::Result<Asked> AskAny(const fg::Json& request);
  // An answer that does not hold what the protocol says: the cell's outcome, as a broken protocol.
  fg::Status BadAnswer(const std::string& message);
  const fg::Json& hello() const { return lease_.engine().hello; }
  const fg::Json& load() const { return lease_.engine().load; }
  const fg::Json& memory_before() const { return lease_.engine().memory_before; }

 private:
  RunContext* context_;
  EngineLease lease_;
};

class RunContext {
 public:
  RunContext(const RunState& state, const CellId& cell, fg::Deadline deadline, std::string scratch);

  const Matrix& matrix() const { return state_.options->matrix; }
  const Project& project() const { return state_.options->project; }
  const EvidenceSpec& spec() const { return *matrix().FindEvidence(cell_.kind, hardware_class()); }
  // nullptr for the row `default`.
  const GateSpec* gate() const { return matrix().FindGate(cell_.gate); }
  const CellId& cell() const { return cell_; }
  const std::string& hardware_class() const { return state_.options->hardware_class; }
  const std::string& scratch() const { return scratch_; }  // a folder of this cell's own
  const std::vector<HelloGate>& head_gates() const { return state_.head_gates; }
  const std::vector<HelloGate>& snapshot_gates() const { return state_.snapshot_gates; }
  const std::vector<std::string>& levels() const { return state_.levels; }
  // Why no oracle pins the cell's model; "" where one does.
  const std::string& no_pins() const { return matrix().FindModel(cell_.model)->no_pins; }
  bool has_snapshot() const { return !state_.options->snapshot_program.empty(); }
  const SnapshotRecord& snapshot() const { return state_.options->snapshot; }

  // Gates that head promotes on this class.
  std::vector<std::string> Promoted() const;
  bool IsPromoted(const std::string& gate) const;
  // Variables that opt `gate` in: itself and its needs at their `on` values.
  Variables OptIn(const GateSpec& gate) const;
  // The same with the gates that shadow it at `off`, so that its own labels show.
  Variables OptInUnshadowed(const GateSpec& gate) const;
  // Every gate of the matrix at off, then `on` at their on values.
  Variables Explicit(const std::vector<std::string>& on) const;

  // A resident engine with `model` (a name of the matrix, or one that ModelStore knows) loaded; ""
  // loads none. One at a time.
  fg::Result<CellEngine> Engine(Arm arm, const Variables& variables, const std::string& model);
  // A new process, gone with the handle.
  fg::Result<CellEngine> FreshEngine(Arm arm, const Variables& variables, const std::string& model);
  // Head's program as a tool's own child: `prefix` stands before it. Nothing asked of it yet.
  fg::Result<std::unique_ptr<EngineClient>> HeadUnder(const std::vector<std::string>& prefix,
                                                      const Variables& variables);
  // Path of a model of the matrix. "NAME@f32" is NAME with its weights dequantized.
  fg::Result<std::string> ModelPath(const std::string& model);

  // The cell's result for a failed Status: the outcome that an ask left behind, or `error`.
  CellResult Stopped(const fg::Status& status) const;
  // Remembers how an ask ended as the cell's outcome and gives the Status that carries it up.
  fg::Status Stop(Arm arm, const Asked& asked);
  fg::Deadline deadline() const { return deadline_; }

 private:
  EngineKey KeyOf(Arm arm, const Variables& variables) const;
  fg::Result<CellEngine> Bring(Arm arm, const Variables& variables, const std::string& model,
                               bool fresh);

  const RunState& state_;
  const CellId cell_;
  const fg::Deadline deadline_;
  const std::string scratch_;
  std::optional<CellResult> stopped_;
};

}  // namespace flipgate
