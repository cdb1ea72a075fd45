// A bundle for tests, made of gates/testing/small_matrix.h.
#pragma once

#include "gates/bundle.h"
#include "gates/testing/small_matrix.h"

namespace flipgate {

inline CellResult Passed() {
  CellResult result;
  result.outcome = Outcome::kPass;
  result.agreement = kBitwise;
  result.figures = {{"tokens", 32}};
  result.labels = {"prefill matmul x"};
  result.seconds = 0.25;
  return result;
}

inline BundleHeader ExampleHeader() {
  BundleHeader header;
  header.subject = "default";
  header.hardware_class = "cpu";
  header.device = {{"class", "cpu"}, {"name", "Processor"}};
  header.build = {{"commit", std::string(40, 'c')}, {"dirty", false}};
  header.hashes = {.engine = std::string(64, 'a'),
                   .defaults = std::string(64, 'b'),
                   .suite = std::string(64, 'c'),
                   .matrix = std::string(64, 'd'),
                   .recipe = std::string(64, 'e')};
  header.snapshot = {.engine = std::string(64, '1'),
                     .defaults = std::string(64, '2'),
                     .commit = std::string(40, '3'),
                     .program_sha256 = std::string(64, '4'),
                     .absent = ""};
  header.started = "2026-11-30T18:06:00Z";
  header.variables = {{"FG_THREADS", "1"}};
  header.jobs = 2;
  return header;
}

// All six cells passed; the first has an attachment, whose bytes are "evidence".
inline Bundle ExampleBundle() {
  const Matrix matrix = SmallMatrix();
  Bundle bundle;
  bundle.header = ExampleHeader();
  bundle.complete = true;
  bundle.pairs = PairsWithoutCells(matrix, "cpu");
  bundle.rows = matrix.Rows();
  bundle.seconds = 1.5;
  for (const CellId& id : matrix.Cells("cpu")) {
    const CellResult passed = Passed();
    bundle.cells.push_back({.id = id,
                            .outcome = passed.outcome,
                            .category = "",
                            .agreement = passed.agreement,
                            .reason = "",
                            .figures = passed.figures,
                            .seconds = passed.seconds,
                            .labels = passed.labels,
                            .attachments = {},
                            .runs = {}});
  }
  bundle.cells[0].attachments = {
      {"streams.json", "ee8250fb76e094b34b471f13a73dbbe51d1ae142e9df59d7c0d31ec20f0a0a8e", 8}};
  return bundle;
}

// The cell with this id, whose outcome a test changes.
inline BundleCell& CellOf(Bundle& bundle, const std::string& id) {
  for (BundleCell& cell : bundle.cells) {
    if (cell.id.Text() == id) return cell;
  }
  std::abort();
}

inline void Fail(Bundle& bundle, const std::string& id, const std::string& category,
                 const std::string& reason) {
  BundleCell& cell = CellOf(bundle, id);
  cell.outcome = Outcome::kFail;
  cell.category = category;
  cell.reason = reason;
  cell.runs = {"fail", "fail", "fail"};
}

inline void Skip(Bundle& bundle, const std::string& id, const std::string& reason) {
  BundleCell& cell = CellOf(bundle, id);
  cell.outcome = Outcome::kSkipped;
  cell.reason = reason;
  cell.figures = fg::Json::object();
}

}  // namespace flipgate
