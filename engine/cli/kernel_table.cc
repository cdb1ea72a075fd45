#include "engine/cli/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace fg {
namespace {

struct Total {
  uint64_t launches = 0;
  double seconds = 0;
};

Total TotalOf(const KernelReport& report) {
  Total total;
  for (const KernelTime& kernel : report.timed.kernels) {
    total.launches += kernel.launches;
    total.seconds += kernel.seconds;
  }
  return total;
}

double Milliseconds(double seconds) { return seconds * 1e3; }

double Share(double seconds, const Total& total) {
  return total.seconds > 0 ? seconds / total.seconds : 0;
}

// `amount` a second in units of `unit`; empty where no amount is declared.
std::string Rate(double amount, double seconds, double unit) {
  return amount > 0 && seconds > 0 ? fmt::format("{:.1f}", amount / seconds / unit) : "";
}

std::string Line(const std::string& kernel, const std::string& launches,
                 const std::string& milliseconds, const std::string& share,
                 const std::string& teraflops, const std::string& gigabytes) {
  return fmt::format("| {:<40} | {:>8} | {:>9} | {:>7} | {:>8} | {:>8} |\n", kernel, launches,
                     milliseconds, share, teraflops, gigabytes);
}

std::string KernelLine(const KernelTime& kernel, const Total& total) {
  return Line(kernel.kernel, std::to_string(kernel.launches),
              fmt::format("{:.3f}", Milliseconds(kernel.seconds)),
              fmt::format("{:.1f} %", 100 * Share(kernel.seconds, total)),
              Rate(kernel.operations, kernel.seconds, 1e12),
              Rate(kernel.bytes, kernel.seconds, 1e9));
}

std::string Markdown(const KernelReport& report, size_t index) {
  const Total total = TotalOf(report);
  std::string text = fmt::format(
      "{}{}, {}, {}: {:.3f} ms (median of {}); {:.3f} ms while its kernels were timed\n\n",
      index == 0 ? "" : "\n", report.row.model, report.row.Test(), report.row.device,
      Milliseconds(Median(report.row.seconds)), report.row.seconds.size(),
      Milliseconds(report.timed.seconds));
  text += Line("kernel", "launches", "ms", "share", "TFLOP/s", "GB/s");
  text += fmt::format("| {:-<40} | {:->7}: | {:->8}: | {:->6}: | {:->7}: | {:->7}: |\n", "", "", "",
                      "", "", "");
  for (const KernelTime& kernel : report.timed.kernels) text += KernelLine(kernel, total);
  return text + Line("all kernels", std::to_string(total.launches),
                     fmt::format("{:.3f}", Milliseconds(total.seconds)),
                     total.seconds > 0 ? "100.0 %" : "", "", "");
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string Csv(const KernelReport& report) {
  std::string text;
  for (const KernelTime& kernel : report.timed.kernels) {
    text += fmt::format("{},{},{},{},{:.6g},{:.6g},{:.6g}\n", Quoted(report.row.file),
                        report.row.Test(), Quoted(kernel.kernel), kernel.launches,
                        Milliseconds(kernel.seconds), kernel.operations, kernel.bytes);
  }
  return text;
}

Json ReportJson(const KernelReport& report) {
  const Total total = TotalOf(report);
  Json kernels = Json::array();
  for (const KernelTime& kernel : report.timed.kernels) {
    kernels.push_back({{"kernel", kernel.kernel},
                       {"launches", kernel.launches},
                       {"ms", Milliseconds(kernel.seconds)},
                       {"share", Share(kernel.seconds, total)},
                       {"operations", kernel.operations},
                       {"bytes", kernel.bytes}});
  }
  std::vector<double> samples;
  for (const double second : report.row.seconds) samples.push_back(Milliseconds(second));
  return {{"model_filename", report.row.file},
          {"model_type", report.row.model},
          {"level", report.row.level},
          {"device", report.row.device},
          {"n_batch", report.row.batch},
          {"n_prompt", report.row.prompt},
          {"n_gen", report.row.tokens},
          {"n_depth", report.row.depth},
          {"test", report.row.Test()},
          {"samples_ms", samples},
          {"median_ms", Milliseconds(Median(report.row.seconds))},
          {"timed_ms", Milliseconds(report.timed.seconds)},
          {"kernels_ms", Milliseconds(total.seconds)},
          {"launches", total.launches},
          {"kernels", std::move(kernels)}};
}

}  // namespace

std::string KernelHead(BenchForm form) {
  if (form == BenchForm::kJson) return "[";
  return form == BenchForm::kCsv ? "model_filename,test,kernel,launches,ms,operations,bytes\n" : "";
}

std::string KernelLines(BenchForm form, const KernelReport& report, size_t index) {
  if (form == BenchForm::kMarkdown) return Markdown(report, index);
  if (form == BenchForm::kCsv) return Csv(report);
  return (index == 0 ? "\n" : ",\n") +
         ReportJson(report).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace fg
