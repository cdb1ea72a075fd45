#include "engine/cli/kernel_table.h"

#include <gtest/gtest.h>

namespace fg {
namespace {

KernelReport Report() {
  KernelReport report;
  report.row.file = "m.gguf";
  report.row.model = "qwen2 7B q4_K";
  report.row.level = "sm_90";
  report.row.device = "NVIDIA \"H200\"";
  report.row.batch = 3314;
  report.row.prompt = 3314;
  report.row.seconds = {0.09, 0.07, 0.08};
  report.timed.seconds = 0.1;
  report.timed.kernels = {{"gemm.f16.q4_K 18944x3584", 56, 0.045, 36e12, 9e9},
                          {"add.norm", 57, 0.015, 0, 0}};
  return report;
}

TEST(KernelTable, MarkdownSaysSharesAndRatesWhereWorkIsDeclared) {
  EXPECT_EQ(KernelHead(BenchForm::kMarkdown), "");
  EXPECT_EQ(
      KernelLines(BenchForm::kMarkdown, Report(), 0),
      "qwen2 7B q4_K, pp3314, NVIDIA \"H200\": 80.000 ms (median of 3); 100.000 ms while its "
      "kernels were timed\n\n"
      "| kernel                                   | launches |        ms |   share |  TFLOP/s |    "
      " "
      "GB/s |\n"
      "| ---------------------------------------- | -------: | --------: | ------: | -------: | "
      "-------: |\n"
      "| gemm.f16.q4_K 18944x3584                 |       56 |    45.000 |  75.0 % |    800.0 |    "
      "200.0 |\n"
      "| add.norm                                 |       57 |    15.000 |  25.0 % |          |    "
      " "
      "     |\n"
      "| all kernels                              |      113 |    60.000 | 100.0 % |          |    "
      " "
      "     |\n");
  EXPECT_EQ(KernelLines(BenchForm::kMarkdown, Report(), 1)[0], '\n');
}

TEST(KernelTable, CsvIsALineAKernel) {
  EXPECT_EQ(KernelHead(BenchForm::kCsv),
            "model_filename,test,kernel,launches,ms,operations,bytes\n");
  EXPECT_EQ(KernelLines(BenchForm::kCsv, Report(), 0),
            "\"m.gguf\",pp3314,\"gemm.f16.q4_K 18944x3584\",56,45,3.6e+13,9e+09\n"
            "\"m.gguf\",pp3314,\"add.norm\",57,15,0,0\n");
}

TEST(KernelTable, JsonIsAnObjectAReport) {
  const Json reports =
      Json::parse(KernelHead(BenchForm::kJson) + KernelLines(BenchForm::kJson, Report(), 0) +
                  KernelLines(BenchForm::kJson, Report(), 1) + BenchFoot(BenchForm::kJson));
  ASSERT_EQ(reports.size(), 2u);
  const Json& report = reports[0];
  EXPECT_EQ(report["test"], "pp3314");
  EXPECT_EQ(report["device"], "NVIDIA \"H200\"");
  EXPECT_EQ(report["median_ms"], 80);
  EXPECT_EQ(report["samples_ms"], Json::parse("[90.0, 70.0, 80.0]"));
  EXPECT_EQ(report["timed_ms"], 100);
  EXPECT_EQ(report["kernels_ms"], 60);
  EXPECT_EQ(report["launches"], 113);
  ASSERT_EQ(report["kernels"].size(), 2u);
  EXPECT_EQ(report["kernels"][0],
            Json::parse(R"({"kernel": "gemm.f16.q4_K 18944x3584", "launches": 56, "ms": 45.0,
                            "share": 0.75, "operations": 36e12, "bytes": 9e9})"));
}

TEST(KernelTable, WithoutKernelsNothingIsDividedByZero) {
  KernelReport report = Report();
  report.timed.kernels = {{"add", 1, 0, 1, 1}};
  EXPECT_NE(KernelLines(BenchForm::kMarkdown, report, 0)
                .find("|        1 |     0.000 |   0.0 % |          |          |\n"),
            std::string::npos);
}

}  // namespace
}  // namespace fg
