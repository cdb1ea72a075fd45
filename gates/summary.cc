#include "gates/summary.h"

#include <fmt/format.h>

#include <algorithm>

namespace flipgate {
namespace {

// In a table cell of Markdown: no line end, no bar.
std::string Inline(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

// Text of an engine's answer, whose types nobody has checked.
std::string TextOf(const fg::Json& answer, const char* name) {
  const auto found = answer.is_object() ? answer.find(name) : answer.end();
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string Word(const Bundle& bundle, const BundleCell& cell) {
  if (bundle.Waived(cell)) return "waived";
  if (cell.outcome == Outcome::kFail) return "FAIL";
  if (cell.outcome == Outcome::kFlaky) return "FLAKY";
  if (cell.outcome == Outcome::kError) return "ERROR";
  return OutcomeName(cell.outcome);
}

std::string Head(const Bundle& bundle) {
  const Judgement judgement = bundle.Verdict();
  const auto counts = bundle.Counts();
  std::string text =
      fmt::format("# {} on {}\n\n", VerdictName(judgement.verdict), bundle.header.hardware_class);
  if (!bundle.complete) text += "**The run was cut off; this is what it had found.**\n\n";
  for (const std::string& reason : judgement.reasons) text += "- " + Inline(reason) + "\n";
  if (!judgement.reasons.empty()) text += "\n";
  text += fmt::format("{} cells: {} pass, {} fail, {} flaky, {} error, {} skipped, {} unsupported",
                      counts.at("cells"), counts.at("pass"), counts.at("fail"), counts.at("flaky"),
                      counts.at("error"), counts.at("skipped"), counts.at("unsupported"));
  if (counts.at("pending") > 0) text += fmt::format(", {} without a result", counts.at("pending"));
  return text + fmt::format("; {:.1f} s.\n\n", bundle.seconds);
}

std::string Table(const Bundle& bundle) {
  std::string text = "| evidence |", rule = "|---|";
  for (const std::string& row : bundle.rows) {
    text += " " + row + " |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string& kind : KindsOf(bundle)) {
    text += "| " + kind + " |";
    for (const std::string& row : bundle.rows) text += " " + PairWord(bundle, kind, row) + " |";
    text += "\n";
  }
  text += "| **verdict** |";
  for (const std::string& row : bundle.rows)
    text += fmt::format(" {} |", VerdictName(bundle.GateVerdict(row).verdict));
  return text + "\n\n";
}

std::string NotPassed(const Bundle& bundle) {
  std::string text;
  for (const BundleCell& cell : bundle.cells) {
    if (cell.outcome == Outcome::kPass) continue;
    text += fmt::format("| {} | {} | {} | {} |\n", cell.id.Text(), Word(bundle, cell),
                        cell.category, Inline(cell.reason));
  }
  for (const CellId& id : bundle.pending)
    text += fmt::format("| {} | without a result | | |\n", id.Text());
  if (text.empty()) return "";
  return "## Cells that did not pass\n\n| cell | outcome | category | reason "
         "|\n|---|---|---|---|\n" +
         text + "\n";
}

std::string NoCells(const Bundle& bundle) {
  std::string text;
  for (const BundlePair& pair : bundle.pairs) {
    if (pair.status != BundlePair::Status::kNotApplicable) continue;
    text += fmt::format("- {}/{}: {}\n", pair.kind, pair.gate, Inline(pair.reason));
  }
  return text.empty() ? "" : "## Not applicable\n\n" + text + "\n";
}

std::string WaiversAndBlindSpots(const Bundle& bundle) {
  std::string text;
  if (!bundle.waivers.empty()) text += "## Waivers\n\n";
  for (const Waiver& waiver : bundle.waivers) {
    text += fmt::format("- {}: {} ({}, {}, {} {})\n", waiver.cell.Text(), Inline(waiver.reason),
                        Inline(waiver.issue), Inline(waiver.owner),
                        Holds(waiver, bundle.Date()) ? "until" : "EXPIRED on", waiver.expires);
  }
  if (!bundle.waivers.empty()) text += "\n";
  text += "## Blind spots\n\n";
  if (!bundle.complete) return text + "Not known: the run was cut off.\n\n";
  if (bundle.blind_spots.empty())
    return text + "None: value-checking evidence reached every label of the default path.\n\n";
  for (const BlindSpot& spot : bundle.blind_spots) {
    text += fmt::format(
        "- {} {} {}: {} dispatches by default, reached by no evidence that checks values\n",
        spot.phase, spot.op, spot.label, spot.count);
  }
  return text + "\n";
}

std::string Measured(const Bundle& bundle) {
  const BundleHeader& header = bundle.header;
  const auto hash = [](const std::string& sum) {
    return sum.empty() ? std::string("none") : sum.substr(0, 12);
  };
  std::string text = "## What was measured\n\n";
  text += fmt::format("- subject {}, engine {}, defaults {}, suite {}, matrix {}, recipe {}\n",
                      header.subject, hash(header.hashes.engine), hash(header.hashes.defaults),
                      hash(header.hashes.suite), hash(header.hashes.matrix),
                      hash(header.hashes.recipe));
  const std::string dirty =
      header.build.is_object() && header.build.contains("dirty") && header.build["dirty"] == true
          ? ", with uncommitted changes"
          : "";
  text += fmt::format("- built from commit {}{}\n", hash(TextOf(header.build, "commit")), dirty);
  if (header.snapshot.absent.empty()) {
    text +=
        fmt::format("- snapshot: engine {}, defaults {}, commit {}\n", hash(header.snapshot.engine),
                    hash(header.snapshot.defaults), hash(header.snapshot.commit));
  } else {
    text += "- no snapshot: " + Inline(header.snapshot.absent) + "\n";
  }
  text += fmt::format("- device: {}\n", Inline(TextOf(header.device, "name")));
  if (!header.fault.empty()) text += fmt::format("- **fault planted: {}**\n", header.fault);
  if (!header.selection.empty())
    text += fmt::format("- a part of the matrix: {}\n", fmt::join(header.selection, ", "));
  return text + fmt::format("- started {}, {} at a time\n", header.started, header.jobs);
}

}  // namespace

std::vector<std::string> KindsOf(const Bundle& bundle) {
  std::vector<std::string> kinds;
  const auto add = [&](const std::string& kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  for (const BundleCell& cell : bundle.cells) add(cell.id.kind);
  for (const CellId& id : bundle.pending) add(id.kind);
  for (const BundlePair& pair : bundle.pairs) add(pair.kind);
  return kinds;
}

std::string PairWord(const Bundle& bundle, const std::string& kind, const std::string& row) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  };
  for (const BundleCell& cell : bundle.cells) {
    if (cell.id.kind == kind && cell.id.gate == row) add(Word(bundle, cell));
  }
  for (const CellId& id : bundle.pending) {
    if (id.kind == kind && id.gate == row) add("no result");
  }
  for (const BundlePair& pair : bundle.pairs) {
    if (pair.kind != kind || pair.gate != row) continue;
    if (pair.status == BundlePair::Status::kShared) add("shared with " + pair.shared_with);
    if (pair.status == BundlePair::Status::kNotApplicable) add("not applicable");
    if (pair.status == BundlePair::Status::kOutOfScope) add("out of scope");
  }
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, ", "));
}

std::string SummaryMarkdown(const Bundle& bundle) {
  return Head(bundle) + Table(bundle) + NotPassed(bundle) + NoCells(bundle) +
         WaiversAndBlindSpots(bundle) + Measured(bundle);
}

}  // namespace flipgate
