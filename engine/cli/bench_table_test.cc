#include "engine/cli/bench_table.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fg {
namespace {

BenchRow Prefill() {
  BenchRow row;
  row.file = "a \"b\".gguf";
  row.model = "qwen2 1.5B q4_K";
  row.size_bytes = uint64_t{3} << 29;
  row.parameters = 1543714304;
  row.level = "avx512";
  row.threads = 2;
  row.batch = 512;
  row.prompt = 512;
  row.seconds = {4, 8};  // 128 and 64 tokens a second
  row.macs = 512 * 1000000000LL;
  row.ceiling = 384e9;
  row.more = {{"gates", {{"FG_MMQ", "1"}}}};
  return row;
}

BenchRow Decode() {
  BenchRow row = Prefill();
  row.prompt = 0;
  row.tokens = 128;
  row.depth = 1024;
  row.size_bytes = 1 << 20;
  row.parameters = 2500000;
  row.seconds = {16};  // 8 a second
  row.bytes = 128 * 1000000000LL;
  row.ceiling = 32e9;
  return row;
}

TEST(BenchTable, MarkdownIsALineATest) {
  EXPECT_EQ(BenchHead(BenchForm::kMarkdown),
            "| model                        |       size |    params | level   | threads |         "
            "  test "
            "|                t/s |               share of ceiling |\n"
            "| ---------------------------- | ---------: | --------: | ------- | ------: | "
            "-------------: "
            "| -----------------: | -----------------------------: |\n");
  EXPECT_EQ(BenchLine(BenchForm::kMarkdown, Prefill(), 0),
            "| qwen2 1.5B q4_K              |   1.50 GiB |    1.54 B | avx512  |       2 |         "
            " pp512 "
            "|      96.00 ± 45.25 |    25.0 % of 384.0 GMAC/s int8 |\n");
  EXPECT_EQ(BenchLine(BenchForm::kMarkdown, Decode(), 1),
            "| qwen2 1.5B q4_K              |   1.00 MiB |    2.50 M | avx512  |       2 |    "
            "tg128@d1024 "
            "|        8.00 ± 0.00 |       25.0 % of 32.0 GB/s read |\n");
  EXPECT_EQ(BenchFoot(BenchForm::kMarkdown), "");
}

TEST(BenchTable, CsvQuotesWhatItMust) {
  const std::string head = BenchHead(BenchForm::kCsv);
  EXPECT_EQ(head,
            "model_filename,model_type,model_size,model_n_params,level,n_threads,n_batch,n_prompt,"
            "n_gen,n_depth,test,avg_ts,stddev_ts,macs,bytes,ceiling,share\n");
  EXPECT_EQ(BenchLine(BenchForm::kCsv, Prefill(), 0),
            "\"a \"\"b\"\".gguf\",\"qwen2 1.5B q4_K\",1610612736,1543714304,avx512,2,512,512,0,0,"
            "pp512,96,45.2548,512000000000,0,3.84e+11,0.25\n");
  EXPECT_EQ(BenchFoot(BenchForm::kCsv), "");
}

TEST(BenchTable, JsonBearsLlamaBenchsNames) {
  const std::string text = BenchHead(BenchForm::kJson) + BenchLine(BenchForm::kJson, Prefill(), 0) +
                           BenchLine(BenchForm::kJson, Decode(), 1) + BenchFoot(BenchForm::kJson);
  const Json rows = Json::parse(text);
  ASSERT_EQ(rows.size(), 2u);
  const Json& prefill = rows[0];
  EXPECT_EQ(prefill["model_filename"], "a \"b\".gguf");
  EXPECT_EQ(prefill["n_prompt"], 512);
  EXPECT_EQ(prefill["n_gen"], 0);
  EXPECT_EQ(prefill["samples_ts"], Json::parse("[128.0, 64.0]"));
  EXPECT_EQ(prefill["samples_ns"], Json::parse("[4e9, 8e9]"));
  EXPECT_EQ(prefill["avg_ns"], 6e9);
  EXPECT_EQ(prefill["avg_ts"], 96);
  EXPECT_EQ(prefill["median_ts"], 96);
  EXPECT_EQ(prefill["share"], 0.25);
  EXPECT_EQ(prefill["ceiling"], 384e9);
  EXPECT_EQ(prefill["device"], "");
  EXPECT_EQ(prefill["ceiling_unit"], "int8 multiply-adds/s");
  EXPECT_EQ(prefill["gates"]["FG_MMQ"], "1");
  EXPECT_EQ(rows[1]["test"], "tg128@d1024");
  EXPECT_EQ(rows[1]["ceiling_unit"], "bytes/s");
  EXPECT_EQ(rows[1]["share"], 0.25);
  EXPECT_EQ(rows[1]["stddev_ts"], 0);
  EXPECT_EQ(Json::parse(BenchHead(BenchForm::kJson) + BenchFoot(BenchForm::kJson)), Json::array());
}

TEST(BenchTable, OnADeviceTheCpusFiguresStayEmpty) {
  BenchRow row = Prefill();
  row.level = "sm_90";
  row.device = "NVIDIA H200";
  row.ceiling = 0;
  EXPECT_EQ(BenchLine(BenchForm::kMarkdown, row, 0),
            "| qwen2 1.5B q4_K              |   1.50 GiB |    1.54 B | sm_90   |       - |         "
            " pp512 "
            "|      96.00 ± 45.25 |                                |\n");
  EXPECT_EQ(BenchLine(BenchForm::kCsv, row, 0),
            "\"a \"\"b\"\".gguf\",\"qwen2 1.5B q4_K\",1610612736,1543714304,sm_90,2,512,512,0,0,"
            "pp512,96,45.2548,512000000000,0,,\n");
  const Json json = Json::parse(BenchLine(BenchForm::kJson, row, 0));
  EXPECT_EQ(json["device"], "NVIDIA H200");
  EXPECT_EQ(json["level"], "sm_90");
  EXPECT_EQ(json["ceiling"], nullptr);
  EXPECT_EQ(json["share"], nullptr);
}

TEST(BenchTable, FormsAreReadByName) {
  EXPECT_EQ(*ReadBenchForm("md"), BenchForm::kMarkdown);
  EXPECT_EQ(*ReadBenchForm("csv"), BenchForm::kCsv);
  EXPECT_EQ(*ReadBenchForm("json"), BenchForm::kJson);
  EXPECT_EQ(ReadBenchForm("jsn").status().message(),
            "unknown output 'jsn'; known: md, csv, json; did you mean 'json'?");
  EXPECT_EQ(ReadBenchForm("").status().kind(), ErrorKind::kUsage);
}

TEST(BenchTable, WithoutAFigureThereIsNoShare) {
  BenchRow row = Prefill();
  row.ceiling = 0;
  EXPECT_EQ(row.Share(), 0);
  row.seconds = {0};  // a clock that did not move
  EXPECT_LT(row.TokensPerSecond()[0], 1e12);
}

TEST(BenchTable, DeviationIsASamples) {
  EXPECT_EQ(MeanOf({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(DeviationOf({1, 2, 6}), std::sqrt(7.0));
  EXPECT_EQ(DeviationOf({5}), 0);
}

}  // namespace
}  // namespace fg
