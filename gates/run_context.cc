#include "gates/run_context.h"

#include <algorithm>

namespace flipgate {
namespace {

// What every engine is started with beside the passed variables: one thread, for bits do not depend
// on it and cells run side by side.
const Variables& BaseVariables() {
  static const Variables kBase = {{"FG_THREADS", "1"}};
  return kBase;
}

}  // namespace

const char* ArmName(Arm arm) {
  static constexpr const char* kNames[] = {"head", "snapshot", "reference"};
  return kNames[static_cast<int>(arm)];
}

namespace {

Arm ArmOfName(const std::string& name) {
  for (const Arm arm : {Arm::kHead, Arm::kReference}) {
    if (name == ArmName(arm)) return arm;
  }
  return Arm::kSnapshot;
}

}  // namespace

std::vector<HelloGate> HelloGates(const fg::Json& hello) {
  std::vector<HelloGate> gates;
  for (const fg::Json& entry : hello.value("gates", fg::Json::array())) {
    gates.push_back({entry.value("name", ""), entry.value("stage", ""), entry.value("bits", ""),
                     entry.value("value", ""), entry.value("needs", std::vector<std::string>{}),
                     entry.value("kind", "switch"),
                     entry.value("modes", std::vector<std::string>{})});
  }
  return gates;
}

fg::Result<fg::Json> CellEngine::Ask(const fg::Json& request) {
  Asked asked = lease_.Ask(request, context_->deadline());
  if (asked.state == AskState::kAnswer) return std::move(asked.answer);
  return context_->Stop(ArmOfName(lease_.engine().key.arm), asked);
}

fg::Status CellEngine::BadAnswer(const std::string& message) {
  const std::string& arm = lease_.engine().key.arm;
  return context_->Stop(ArmOfName(arm),
                        {AskState::kProtocol, {}, "", "engine '" + arm + "': " + message});
}

fg::Result<Asked> CellEngine::AskAny(const fg::Json& request) {
  Asked asked = lease_.Ask(request, context_->deadline());
  if (asked.state == AskState::kAnswer || asked.state == AskState::kRefusal) return asked;
  return context_->Stop(ArmOfName(lease_.engine().key.arm), asked);
}

RunContext::RunContext(const RunState& state, const CellId& cell, fg::Deadline deadline,
                       std::string scratch)
    : state_(state), cell_(cell), deadline_(deadline), scratch_(std::move(scratch)) {}

std::vector<std::string> RunContext::Promoted() const {
  std::vector<std::string> names;
  for (const HelloGate& gate : head_gates()) {
    if (gate.stage == "promoted") names.push_back(gate.name);
  }
  return names;
}

bool RunContext::IsPromoted(const std::string& gate) const {
  const auto promoted = Promoted();
  return std::find(promoted.begin(), promoted.end(), gate) != promoted.end();
}

Variables RunContext::OptIn(const GateSpec& gate) const {
  Variables variables;
  for (const std::string& need : gate.needs) {
    variables[need] = matrix().FindGate(need)->set.at("on");
  }
  variables[gate.name] = gate.set.at("on");
  return variables;
}

Variables RunContext::OptInUnshadowed(const GateSpec& gate) const {
  Variables variables = OptIn(gate);
  for (const std::string& shadow : gate.shadowed_by) {
    variables[shadow] = matrix().FindGate(shadow)->set.at("off");
  }
  return variables;
}

Variables RunContext::Explicit(const std::vector<std::string>& on) const {
  Variables variables;
  for (const GateSpec& gate : matrix().gates()) {
    const bool is_on = std::find(on.begin(), on.end(), gate.name) != on.end();
    variables[gate.name] = gate.set.at(is_on ? "on" : "off");
  }
  return variables;
}

fg::Result<std::string> RunContext::ModelPath(const std::string& model) {
  return state_.models->Path(model);
}

EngineKey RunContext::KeyOf(Arm arm, const Variables& variables) const {
  EngineKey key{ArmName(arm), BaseVariables(), ""};
  for (const auto& [name, value] : variables) key.variables[name] = value;
  if (arm == Arm::kHead && !state_.options->fault.empty()) {
    key.variables["FG_FAULT"] = state_.options->fault;
  }
  return key;
}

fg::Result<std::unique_ptr<EngineClient>> RunContext::HeadUnder(
    const std::vector<std::string>& prefix, const Variables& variables) {
  return state_.pool->StartUnder(prefix, KeyOf(Arm::kHead, variables));
}

fg::Result<CellEngine> RunContext::Bring(Arm arm, const Variables& variables,
                                         const std::string& model, bool fresh) {
  EngineKey key = KeyOf(arm, variables);
  if (!model.empty()) {
    FG_ASSIGN_OR_RETURN(key.model, ModelPath(model));
  }
  Asked failure;
  auto lease = fresh ? state_.pool->Fresh(key, deadline_, &failure)
                     : state_.pool->Acquire(key, deadline_, &failure);
  if (lease.ok()) return CellEngine(this, std::move(lease).value());
  if (failure.state != AskState::kAnswer) return Stop(arm, failure);
  return lease.status();
}

fg::Result<CellEngine> RunContext::Engine(Arm arm, const Variables& variables,
                                          const std::string& model) {
  return Bring(arm, variables, model, false);
}

fg::Result<CellEngine> RunContext::FreshEngine(Arm arm, const Variables& variables,
                                               const std::string& model) {
  return Bring(arm, variables, model, true);
}

fg::Status RunContext::Stop(Arm arm, const Asked& asked) {
  // A head that dies or breaks the protocol has failed its cell; a snapshot that does, or a time
  // limit, says nothing about head.
  const bool head = arm == Arm::kHead;
  if (asked.state == AskState::kCrash && head) {
    stopped_ = CellResult::Fail("crash", asked.message);
  } else if (asked.state == AskState::kProtocol && head) {
    stopped_ = CellResult::Fail("protocol", asked.message);
  } else if (asked.state == AskState::kRefusal && head) {
    stopped_ =
        CellResult::Fail(asked.error_kind.empty() ? "refused" : asked.error_kind, asked.message);
  } else {
    stopped_ = CellResult::Error(asked.message);
  }
  return fg::Status(fg::ErrorKind::kIo, asked.message);
}

CellResult RunContext::Stopped(const fg::Status& status) const {
  return stopped_ ? *stopped_ : CellResult::Error(status.message());
}

}  // namespace flipgate
