#include "gates/blind_spots.h"

namespace flipgate {
namespace {

constexpr int kPromptRows = 24;   // a forward of 16 rows or more
constexpr int kDecodeTokens = 4;  // and some of one row

std::string LabelText(const fg::Json& entry) {
  return entry.value("phase", "") + " " + entry.value("op", "") + " " + entry.value("label", "");
}

}  // namespace

std::vector<std::string> LedgerLabels(const fg::Json& ledger) {
  std::vector<std::string> labels;
  for (const fg::Json& entry : ledger.value("dispatch", fg::Json::array())) {
    labels.push_back(LabelText(entry));
  }
  return labels;
}

fg::Result<std::vector<BlindSpot>> DefaultLabels(RunContext& context, const std::string& model) {
  FG_ASSIGN_OR_RETURN(CellEngine engine, context.Engine(Arm::kHead, {}, model));
  std::vector<int> tokens(kPromptRows);
  for (int i = 0; i < kPromptRows; ++i) tokens[i] = i + 1;
  FG_ASSIGN_OR_RETURN(const fg::Json generated, engine.Ask({{"request", "generate"},
                                                            {"session", "labels"},
                                                            {"tokens", tokens},
                                                            {"max_tokens", kDecodeTokens},
                                                            {"stop_at_eos", false}}));
  FG_ASSIGN_OR_RETURN(const fg::Json ledger, engine.Ask({{"request", "ledger"}}));
  std::vector<BlindSpot> used;
  for (const fg::Json& entry : ledger.value("dispatch", fg::Json::array())) {
    used.push_back({entry.value("phase", ""), entry.value("op", ""), entry.value("label", ""),
                    entry.value("count", int64_t{0})});
  }
  return used;
}

std::vector<BlindSpot> Unreached(const std::vector<BlindSpot>& used,
                                 const std::set<std::string>& reached) {
  std::vector<BlindSpot> spots;
  for (const BlindSpot& spot : used) {
    if (!reached.contains(spot.phase + " " + spot.op + " " + spot.label)) spots.push_back(spot);
  }
  return spots;
}

}  // namespace flipgate
