#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/file.h"
#include "engine/build_info.h"
#include "engine/cli/bench_table.h"
#include "engine/cli/commands.h"
#include "engine/gguf/gguf.h"
#include "engine/probe/answers.h"
#include "engine/probe/bench.h"
#include "engine/probe/bench_ceiling.h"
#include "engine/probe/bench_work.h"

namespace fg {
namespace {

struct BenchModel {
  BenchWork work;
  int64_t context = 0;
};

Result<BenchModel> ReadModel(const std::string& path) {
  FG_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(path));
  const auto read = [&]() -> Result<BenchModel> {
    FG_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Parse(mapped.bytes()));
    FG_ASSIGN_OR_RETURN(const Hyperparameters model, ReadHyperparameters(file));
    FG_ASSIGN_OR_RETURN(const ModelWeights weights, ModelWeights::Read(file, model.shape));
    return BenchModel{WorkOf(file, model, weights), model.context};
  };
  auto model = read();
  return model.ok() ? std::move(model) : model.status().WithContext(path);
}

// One test: a prompt or a decode, behind `depth` positions.
struct BenchTest {
  int64_t prompt = 0, tokens = 0, depth = 0;
  int64_t rows() const { return prompt + tokens; }
};

std::vector<BenchTest> TestsOf(const BenchArguments& arguments) {
  std::vector<BenchTest> tests;
  for (const int64_t depth : arguments.depths) {
    for (const int64_t prompt : arguments.prompts) {
      if (prompt > 0) tests.push_back({prompt, 0, depth});
    }
    for (const int64_t tokens : arguments.tokens) {
      if (tokens > 0) tests.push_back({0, tokens, depth});
    }
  }
  return tests;
}

// The positions that the tests need, as far as the model has them.
int64_t ContextFor(const std::vector<BenchTest>& tests, int64_t most) {
  int64_t context = 1;
  for (const BenchTest& test : tests) {
    const int64_t depth = std::min(test.depth, most);
    context = std::max(context, depth + std::min(test.rows(), most - depth));
  }
  return context;
}

// The gates of `context` on another number of threads.
Result<Gates> GatesOn(const CliContext& context, int threads) {
  std::vector<std::string> environment;
  for (const std::string& variable : context.environment) {
    if (!variable.starts_with("FG_THREADS=")) environment.push_back(variable);
  }
  environment.push_back("FG_THREADS=" + std::to_string(threads));
  return Gates::FromEnvironment(environment, context.gates.hardware_class(), context.ledger);
}

// Prints rows in one form, each as it comes.
class Printer {
 public:
  explicit Printer(BenchForm form) : form_(form) {}
  void Print(const BenchRow& row) {
    Put((rows_ == 0 ? BenchHead(form_) : "") + BenchLine(form_, row, rows_));
    ++rows_;
  }
  void End() { Put((rows_ == 0 ? BenchHead(form_) : "") + BenchFoot(form_)); }

 private:
  static void Put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  const BenchForm form_;
  size_t rows_ = 0;
};

Json MoreOf(const Gates& gates, const BenchModel& model, const BenchTest& test,
            const BenchCeiling& ceiling) {
  Json values = Json::object();
  for (const GateState& gate : gates.states()) values[gate.name] = gate.value;
  const BenchWork& work = model.work;
  Json more = {{"gates", std::move(values)},
               {"settings", gates.settings_set()},
               {"cpu_info", DeviceJson(gates)["name"]},
               {"build_commit", ThisBuild().commit},
               {"row_macs", work.row_macs},
               {"tail_macs", work.tail_macs},
               {"attention_macs", work.AttentionMacs(test.depth, test.rows())},
               {"token_bytes", work.token_bytes},
               {"position_bytes", work.position_bytes}};
  if (test.prompt == 0) more["read_buffer_bytes"] = ceiling.read_bytes();
  return more;
}

// One model on one number of threads.
class Bench {
 public:
  Bench(const CliContext& context, const BenchArguments& arguments, const Gates& gates,
        Printer* printer)
      : context_(context), arguments_(arguments), gates_(gates), printer_(printer) {}

  Status Run(const std::string& path, const BenchModel& model) {
    const std::vector<BenchTest> tests = TestsOf(arguments_);
    FG_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                        Engine::Load(path, {ContextFor(tests, model.context), arguments_.batch},
                                     gates_, context_.ledger));
    // Before the first minute of measuring, not after it.
    for (const BenchTest& test : tests) {
      FG_RETURN_IF_ERROR(CheckBenchFits(*engine, test.rows(), test.depth));
    }
    const Settings& settings = gates_.settings();
    FG_ASSIGN_OR_RETURN(
        const std::unique_ptr<BenchCeiling> ceiling,
        BenchCeiling::Make(settings.cpu_level, settings.threads, model.work.token_bytes));
    ceiling->Measure();
    for (const BenchTest& test : tests) {
      FG_ASSIGN_OR_RETURN(BenchRow row, Measure(*engine, model, test, ceiling.get()));
      row.file = path;
      printer_->Print(row);
    }
    return Status::Ok();
  }

 private:
  // The ceiling is measured before the first test and after each, so that a moment's noise does not
  // lower it.
  Result<BenchRow> Measure(Engine& engine, const BenchModel& model, const BenchTest& test,
                           BenchCeiling* ceiling) {
    const int64_t repetitions = arguments_.repetitions;
    FG_ASSIGN_OR_RETURN(const BenchSeries series,
                        test.prompt > 0
                            ? BenchPrefill(engine, test.prompt, repetitions, test.depth)
                            : BenchDecode(engine, test.tokens, test.depth, repetitions));
    ceiling->Measure();
    const BenchWork& work = model.work;
    BenchRow row;
    row.model = work.model;
    row.size_bytes = work.size_bytes;
    row.parameters = work.parameters;
    row.level = CpuLevelName(gates_.settings().cpu_level);
    row.threads = gates_.settings().threads;
    row.batch = engine.batch();
    row.prompt = test.prompt;
    row.tokens = test.tokens;
    row.depth = test.depth;
    row.seconds = series.seconds;
    row.macs = row.prefill() ? work.PrefillMacs(test.prompt)
                             : test.tokens * (work.row_macs + work.tail_macs);
    row.bytes = row.prefill() ? 0 : work.DecodeBytes(test.depth, test.tokens);
    row.ceiling =
        row.prefill() ? ceiling->int8_macs_per_second() : ceiling->read_bytes_per_second();
    row.more = MoreOf(gates_, model, test, *ceiling);
    return row;
  }

  const CliContext& context_;
  const BenchArguments& arguments_;
  const Gates& gates_;
  Printer* printer_;
};

}  // namespace

Status BenchCommand(const CliContext& context, const BenchArguments& arguments) {
  FG_ASSIGN_OR_RETURN(const BenchForm form, ReadBenchForm(arguments.form));
  if (TestsOf(arguments).empty()) {
    return Status(ErrorKind::kUsage, "bench needs a test: -p or -n above 0");
  }
  std::vector<BenchModel> models;
  for (const std::string& path : arguments.models) {
    FG_ASSIGN_OR_RETURN(BenchModel model, ReadModel(path));
    models.push_back(std::move(model));
  }
  std::vector<int> threads = arguments.threads;
  if (threads.empty()) threads.push_back(context.gates.settings().threads);
  Printer printer(form);
  for (size_t i = 0; i < models.size(); ++i) {
    for (const int count : threads) {
      FG_ASSIGN_OR_RETURN(const Gates gates, GatesOn(context, count));
      FG_RETURN_IF_ERROR(
          Bench(context, arguments, gates, &printer).Run(arguments.models[i], models[i]));
    }
  }
  printer.End();
  return Status::Ok();
}

}  // namespace fg
