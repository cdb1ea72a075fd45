#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "engine/cli/commands.h"
#include "engine/probe/answers.h"
#include "engine/probe/bench.h"

namespace fg {
namespace {

struct Test {
  std::string name;  // "pp512", "tg128@256"
  int64_t context = 0;
  BenchSeries series;
};

Json TestJson(const Test& test) {
  const std::vector<double> rates = test.series.TokensPerSecond();
  return {{"test", test.name},
          {"tokens", test.series.tokens},
          {"context", test.context},
          {"seconds", test.series.seconds},
          {"tokens_per_second", rates},
          {"median", Median(rates)},
          {"min", *std::min_element(rates.begin(), rates.end())},
          {"max", *std::max_element(rates.begin(), rates.end())}};
}

void PrintTable(const std::vector<Test>& tests) {
  std::string text =
      fmt::format("{:<16} {:>12} {:>12} {:>12}   tokens/s\n", "test", "median", "min", "max");
  for (const Test& test : tests) {
    const std::vector<double> rates = test.series.TokensPerSecond();
    text += fmt::format("{:<16} {:>12.2f} {:>12.2f} {:>12.2f}\n", test.name, Median(rates),
                        *std::min_element(rates.begin(), rates.end()),
                        *std::max_element(rates.begin(), rates.end()));
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace

Status BenchCommand(const CliContext& context, const BenchArguments& arguments) {
  if (arguments.prefill == 0 && arguments.decode == 0) {
    return Status(ErrorKind::kUsage, "bench needs a test: -p or -n above 0");
  }
  FG_ASSIGN_OR_RETURN(
      const std::unique_ptr<Engine> engine,
      Engine::Load(arguments.model, {0, arguments.batch}, context.gates, context.ledger));
  std::vector<Test> tests;
  if (arguments.prefill > 0) {
    FG_ASSIGN_OR_RETURN(BenchSeries series,
                        BenchPrefill(*engine, arguments.prefill, arguments.repetitions));
    tests.push_back({fmt::format("pp{}", arguments.prefill), 0, std::move(series)});
  }
  if (arguments.decode > 0) {
    FG_ASSIGN_OR_RETURN(BenchSeries series, BenchDecode(*engine, arguments.decode, arguments.depth,
                                                        arguments.repetitions));
    const std::string at = arguments.depth > 0 ? fmt::format("@{}", arguments.depth) : "";
    tests.push_back(
        {fmt::format("tg{}{}", arguments.decode, at), arguments.depth, std::move(series)});
  }
  if (!arguments.json) {
    PrintTable(tests);
    return Status::Ok();
  }
  Json list = Json::array();
  for (const Test& test : tests) list.push_back(TestJson(test));
  PrintJson({{"model", ModelJson(engine->summary())},
             {"device", DeviceJson(context.gates)},
             {"gates", GatesJson(context.gates)},
             {"tests", std::move(list)}});
  return Status::Ok();
}

}  // namespace fg
