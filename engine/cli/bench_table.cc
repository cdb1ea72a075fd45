#include "engine/cli/bench_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/nearest.h"
#include "engine/gguf/printable.h"
#include "engine/probe/bench.h"

namespace fg {
namespace {

// The columns of the table; the form for machines has more.
constexpr const char* kColumns[] = {"model",   "size", "params", "level",
                                    "threads", "test", "t/s",    "share of ceiling"};
constexpr size_t kWidths[] = {28, 10, 9, 7, 7, 14, 18, 30};

std::string Size(uint64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return mebibytes < 1024 ? fmt::format("{:.2f} MiB", mebibytes)
                          : fmt::format("{:.2f} GiB", mebibytes / 1024);
}

std::string Parameters(int64_t count) {
  const double millions = static_cast<double>(count) / 1e6;
  return millions < 1000 ? fmt::format("{:.2f} M", millions)
                         : fmt::format("{:.2f} B", millions / 1000);
}

std::string Ceiling(const BenchRow& row) {
  if (row.ceiling <= 0) return "";
  return fmt::format("{:.1f} % of {:.1f} {}", 100 * row.Share(), row.ceiling / 1e9,
                     row.prefill() ? "GMAC/s int8" : "GB/s read");
}

std::string MarkdownLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (size_t i = 0; i < cells.size(); ++i) {
    // Figures stand right, as in the rule below the head.
    line += i == 0 || i == 3 ? fmt::format(" {:<{}} |", cells[i], kWidths[i])
                             : fmt::format(" {:>{}} |", cells[i], kWidths[i]);
  }
  return line + "\n";
}

std::string MarkdownHead() {
  std::string head = MarkdownLine({std::begin(kColumns), std::end(kColumns)}) + "|";
  for (size_t i = 0; i < std::size(kWidths); ++i) {
    const bool left = i == 0 || i == 3;
    head += " " + std::string(kWidths[i] - (left ? 0 : 1), '-') + (left ? " |" : ": |");
  }
  return head + "\n";
}

std::string CsvCell(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CsvLine(const BenchRow& row) {
  const std::vector<double> rates = row.TokensPerSecond();
  const auto measured = [&](double value) {
    return row.ceiling > 0 ? fmt::format("{:.6g}", value) : std::string();
  };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:.6g},{:.6g},{},{},{},{}\n",
                     CsvCell(row.file), CsvCell(row.model), row.size_bytes, row.parameters,
                     row.level, row.threads, row.batch, row.prompt, row.tokens, row.depth,
                     row.Test(), MeanOf(rates), DeviationOf(rates), row.macs, row.bytes,
                     measured(row.ceiling), measured(row.Share()));
}

// Nothing where there is no ceiling to hold a row against.
Json Measured(const BenchRow& row, double value) {
  return row.ceiling > 0 ? Json(value) : Json(nullptr);
}

// The names of llama-bench where it has one, so that what reads its output reads ours.
Json RowJson(const BenchRow& row) {
  const std::vector<double> rates = row.TokensPerSecond();
  std::vector<double> nanoseconds;
  for (const double second : row.seconds) nanoseconds.push_back(std::round(second * 1e9));
  Json json = {{"model_filename", row.file},
               {"model_type", row.model},
               {"model_size", row.size_bytes},
               {"model_n_params", row.parameters},
               {"level", row.level},
               {"device", row.device},
               {"n_threads", row.threads},
               {"n_batch", row.batch},
               {"n_prompt", row.prompt},
               {"n_gen", row.tokens},
               {"n_depth", row.depth},
               {"test", row.Test()},
               {"avg_ns", std::round(MeanOf(nanoseconds))},
               {"stddev_ns", std::round(DeviationOf(nanoseconds))},
               {"avg_ts", MeanOf(rates)},
               {"stddev_ts", DeviationOf(rates)},
               {"median_ts", Median(rates)},
               {"samples_ns", nanoseconds},
               {"samples_ts", rates},
               {"macs", row.macs},
               {"bytes", row.bytes},
               {"ceiling", Measured(row, row.ceiling)},
               {"ceiling_unit", row.prefill() ? "int8 multiply-adds/s" : "bytes/s"},
               {"share", Measured(row, row.Share())}};
  json.update(row.more);
  return json;
}

}  // namespace

Result<BenchForm> ReadBenchForm(const std::string& name) {
  if (name == "md") return BenchForm::kMarkdown;
  if (name == "csv") return BenchForm::kCsv;
  if (name == "json") return BenchForm::kJson;
  return Status(ErrorKind::kUsage, "unknown output " + Printable(name) + "; known: md, csv, json" +
                                       DidYouMean(name, {"md", "csv", "json"}));
}

std::string BenchRow::Test() const {
  const std::string at = depth > 0 ? fmt::format("@d{}", depth) : "";
  return prefill() ? fmt::format("pp{}{}", prompt, at) : fmt::format("tg{}{}", tokens, at);
}

std::vector<double> BenchRow::TokensPerSecond() const {
  std::vector<double> rates;
  // A clock that did not move would give infinity, which JSON cannot say.
  for (const double time : seconds) {
    rates.push_back(static_cast<double>(prompt + tokens) / std::max(time, 1e-9));
  }
  return rates;
}

double BenchRow::Share() const {
  if (ceiling <= 0) return 0;
  const double a_token = (prefill() ? static_cast<double>(macs) : static_cast<double>(bytes)) /
                         static_cast<double>(prompt + tokens);
  return MeanOf(TokensPerSecond()) * a_token / ceiling;
}

double MeanOf(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double DeviationOf(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::string BenchHead(BenchForm form) {
  switch (form) {
    case BenchForm::kMarkdown:
      return MarkdownHead();
    case BenchForm::kCsv:
      return "model_filename,model_type,model_size,model_n_params,level,n_threads,n_batch,n_prompt,"
             "n_gen,n_depth,test,avg_ts,stddev_ts,macs,bytes,ceiling,share\n";
    case BenchForm::kJson:
      return "[";
  }
  return "";
}

std::string BenchLine(BenchForm form, const BenchRow& row, size_t index) {
  if (form == BenchForm::kCsv) return CsvLine(row);
  if (form == BenchForm::kJson) {
    return (index == 0 ? "\n" : ",\n") +
           RowJson(row).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  const std::vector<double> rates = row.TokensPerSecond();
  return MarkdownLine({row.model, Size(row.size_bytes), Parameters(row.parameters), row.level,
                       row.device.empty() ? std::to_string(row.threads) : "-", row.Test(),
                       fmt::format("{:.2f} ± {:.2f}", MeanOf(rates), DeviationOf(rates)),
                       Ceiling(row)});
}

std::string BenchFoot(BenchForm form) { return form == BenchForm::kJson ? "\n]\n" : ""; }

}  // namespace fg
