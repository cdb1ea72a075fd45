#include "gates/evidence_backstop.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "gates/arm_run.h"
#include "gates/mode_gate.h"

namespace flipgate {
namespace {

using fg::Json;

constexpr const char* kSite = "op.forward";

// A forward over a pinned prompt and the oracle's tokens, all their logits wanted.
struct Case {
  const PromptPins* prompt = nullptr;
  std::string tokens_file;
  int64_t tokens = 0, wanted = 0;
};

fg::Result<Case> MakeCase(RunContext& context, const ModelPins& pins,
                          const std::vector<Prompt>& prompts) {
  Case made;
  made.prompt = pins.Find(prompts.front().name);
  if (made.prompt == nullptr) {
    return fg::Status(fg::ErrorKind::kUsage,
                      pins.folder + ": prompt '" + prompts.front().name + "' is not pinned");
  }
  std::vector<int32_t> tokens(made.prompt->ids.begin(), made.prompt->ids.end());
  tokens.insert(tokens.end(), made.prompt->tokens.begin(), made.prompt->tokens.end());
  made.tokens = static_cast<int64_t>(tokens.size());
  made.wanted = static_cast<int64_t>(made.prompt->tokens.size()) + 1;
  made.tokens_file = context.scratch() + "/tokens.i32";
  std::string bytes(tokens.size() * sizeof(int32_t), '\0');
  std::memcpy(bytes.data(), tokens.data(), bytes.size());
  FG_RETURN_IF_ERROR(fg::WriteFileAtomic(made.tokens_file, bytes));
  return made;
}

Json ForwardRequest(const Case& made, const std::string& out) {
  return {{"request", "op"},
          {"op", "forward"},
          {"inputs",
           {{"tokens", {{"file", made.tokens_file}, {"dtype", "i32"}, {"shape", {made.tokens}}}}}},
          {"params", {{"wanted", made.wanted}}},
          {"out", out}};
}

int64_t FilesIn(const std::string& folder) {
  int64_t files = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    files += entry.is_regular_file() ? 1 : 0;
  }
  return files;
}

// How often the ledger holds exactly this refusal, and how many it holds.
std::pair<int64_t, int64_t> Refusals(const Json& ledger, const std::string& message) {
  int64_t same = 0, all = 0;
  for (const Json& refusal : ledger.value("refusals", Json::array())) {
    ++all;
    same += refusal.is_string() && refusal.get<std::string>() == message ? 1 : 0;
  }
  return {same, all};
}

// What is wrong with how a violation ended; nothing when the promise spoke up and nothing came out.
std::optional<std::string> RefusalFault(const std::string& violation, const Asked& asked,
                                        const Json& ledger, const std::string& out) {
  if (asked.state != AskState::kRefusal) {
    return "the violation '" + violation + "' was answered as if nothing had happened";
  }
  const Json error = asked.answer.value("error", Json::object());
  const std::string message = error.value("message", ""), site = error.value("site", "");
  if (asked.error_kind != "refused" || site != kSite) {
    return fmt::format("the violation '{}' ended as {} at '{}', not as refused at '{}': {}",
                       violation, asked.error_kind, site, kSite, message);
  }
  for (const char* output : {"outputs", "tokens", "logits"}) {
    if (asked.answer.contains(output)) {
      return fmt::format("the refusal of '{}' still holds '{}'", violation, output);
    }
  }
  if (const int64_t files = FilesIn(out); files != 0) {
    return fmt::format("the refusal of '{}' left {} files behind", violation, files);
  }
  const auto [same, all] = Refusals(ledger, message);
  if (message.empty() || same != 1 || all != 1) {
    return fmt::format("the ledger holds {} refusals, {} of them the answer's '{}'; one was due",
                       all, same, message);
  }
  return std::nullopt;
}

// The control's logits against the oracle's.
fg::Result<std::optional<std::string>> ControlFault(const Json& answer, const Case& made,
                                                    double tolerance, int64_t* compared) {
  const Json told = answer.value("outputs", Json::object()).value("logits", Json::object());
  FG_ASSIGN_OR_RETURN(const std::string bytes, fg::ReadFile(told.value("file", "")));
  const std::vector<float>& exact = made.prompt->logits;
  if (bytes.size() != exact.size() * sizeof(float)) {
    return std::optional<std::string>(fmt::format("the forward gave {} bytes of logits, {} are due",
                                                  bytes.size(), exact.size() * sizeof(float)));
  }
  std::vector<float> got(exact.size());
  std::memcpy(got.data(), bytes.data(), bytes.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ++*compared;
    if (std::abs(static_cast<double>(got[i]) - exact[i]) <= tolerance) continue;
    return std::optional<std::string>(
        fmt::format("logit {} of the forward is {:.6g}, float64 has {:.6g}; tolerance {:.6g}", i,
                    got[i], exact[i], tolerance));
  }
  return std::optional<std::string>();
}

struct Findings {
  std::optional<std::string> fault;
  std::string category;
  int64_t refusals = 0, logits = 0;
  Json messages = Json::object();
  void Note(const char* of, std::optional<std::string> what) {
    if (fault || !what) return;
    fault = std::move(what);
    category = of;
  }
};

fg::Status BreakPromise(RunContext& context, CellEngine& engine, const Case& made,
                        const std::string& violation, Findings* found) {
  const std::string out = context.scratch() + "/" + violation;
  FG_RETURN_IF_ERROR(fg::MakeFolders(out));
  FG_RETURN_IF_ERROR(engine.Ask({{"request", "ledger"}}).status());  // counts anew
  Json request = ForwardRequest(made, out);
  request["violate"] = violation;
  FG_ASSIGN_OR_RETURN(const Asked asked, engine.AskAny(request));
  FG_ASSIGN_OR_RETURN(const Json ledger, engine.Ask({{"request", "ledger"}}));
  const auto fault = RefusalFault(violation, asked, ledger, out);
  found->Note("silent", fault);
  if (!fault) ++found->refusals;
  found->messages[violation] = asked.message;
  return fg::Status::Ok();
}

fg::Result<CellResult> BreakPromises(RunContext& context) {
  FG_ASSIGN_OR_RETURN(const GateSpec* gate, ModeGateOf(context));
  FG_ASSIGN_OR_RETURN(const auto prompts, CellPrompts(context));
  const Variables variables = InMode(context, *gate, gate->set.at("on"));
  FG_ASSIGN_OR_RETURN(CellEngine engine,
                      context.FreshEngine(Arm::kHead, variables, context.cell().model));
  const StreamOptions options = CellOptions(context);
  FG_ASSIGN_OR_RETURN(const ArmRun before, RunPrompts(engine, prompts, options));
  FG_ASSIGN_OR_RETURN(const ModelPins pins, CellPins(context, before.sha256));
  FG_ASSIGN_OR_RETURN(const Case made, MakeCase(context, pins, prompts));
  Findings found;
  FG_ASSIGN_OR_RETURN(const Json control,
                      engine.Ask(ForwardRequest(made, context.scratch() + "/control")));
  const double tolerance =
      context.matrix().FindTolerance(context.spec().agreement.at("logits"))->value *
      pins.tolerances.at(PinnedPath(before.labels));
  FG_ASSIGN_OR_RETURN(auto fault, ControlFault(control, made, tolerance, &found.logits));
  found.Note("logits", fault);
  for (const char* violation : {"dead_write", "stale_plane"}) {
    FG_RETURN_IF_ERROR(BreakPromise(context, engine, made, violation, &found));
    FG_RETURN_IF_ERROR(engine.Ask({{"request", "reset"}}).status());
    FG_ASSIGN_OR_RETURN(const ArmRun after, RunPrompts(engine, prompts, options));
    found.Note("fork", FindFork(before.streams, "the engine before", after.streams,
                                fmt::format("the same engine after '{}'", violation)));
  }
  CellResult result;
  if (found.fault) {
    result = CellResult::Fail(found.category, *found.fault);
  } else {
    result.outcome = Outcome::kPass;
  }
  result.agreement =
      fmt::format("{} (streams), {} (logits)", context.spec().agreement.at("streams"),
                  context.spec().agreement.at("logits"));
  result.labels = before.labels;
  result.figures = {{"refusals", found.refusals},
                    {"logits", found.logits},
                    {"tokens_compared", 2 * CountTokens(before.streams)}};
  result.attachments = {{"refusals.json", found.messages.dump(1)}};
  return result;
}

}  // namespace

CellResult RunBackstop(RunContext& context, const CellId&) {
  auto result = BreakPromises(context);
  return result.ok() ? *result : context.Stopped(result.status());
}

}  // namespace flipgate
