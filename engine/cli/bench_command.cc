#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "base/file.h"
#include "engine/build_info.h"
#include "engine/cli/bench_table.h"
#include "engine/cli/commands.h"
#include "engine/cli/kernel_table.h"
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

// Prints rows or reports in one form, each as it comes.
class Printer {
 public:
  Printer(BenchForm form, bool kernels) : form_(form), kernels_(kernels) {}
  void Print(const BenchRow& row) {
    Put((count_ == 0 ? BenchHead(form_) : "") + BenchLine(form_, row, count_));
    ++count_;
  }
  void Print(const KernelReport& report) {
    Put((count_ == 0 ? KernelHead(form_) : "") + KernelLines(form_, report, count_));
    ++count_;
  }
  void End() {
    Put((count_ == 0 ? (kernels_ ? KernelHead(form_) : BenchHead(form_)) : "") + BenchFoot(form_));
  }

 private:
  static void Put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  const BenchForm form_;
  const bool kernels_;
  size_t count_ = 0;
};

Json MoreOf(const CliContext& context, const Gates& gates, const BenchModel& model,
            const BenchTest& test) {
  Json values = Json::object();
  for (const GateState& gate : gates.states()) values[gate.name] = gate.value;
  const BenchWork& work = model.work;
  Json more = {{"gates", std::move(values)},
               {"settings", gates.settings_set()},
               {"cpu_info", ProcessorName()},
               {"build_commit", ThisBuild().commit},
               {"row_macs", work.row_macs},
               {"tail_macs", work.tail_macs},
               {"attention_macs", work.AttentionMacs(test.depth, test.rows())},
               {"token_bytes", work.token_bytes},
               {"position_bytes", work.position_bytes}};
  if (!context.device.is_cpu()) more["gpu_info"] = context.device.info()->name;
  return more;
}

// One model on a device, or on one number of threads.
class Bench {
 public:
  Bench(const CliContext& context, const BenchArguments& arguments, const Gates& gates,
        Printer* printer)
      : context_(context), arguments_(arguments), gates_(gates), printer_(printer) {}

  Status Run(const std::string& path, const BenchModel& model) {
    const std::vector<BenchTest> tests = TestsOf(arguments_);
    const int64_t batch = arguments_.batch.value_or(DefaultBatch(context_.device));
    FG_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                        Engine::Load(path, {ContextFor(tests, model.context), batch},
                                     context_.device, gates_, context_.ledger));
    // Before the first minute of measuring, not after it.
    for (const BenchTest& test : tests) {
      FG_RETURN_IF_ERROR(CheckBenchFits(*engine, test.rows(), test.depth));
    }
    for (const BenchTest& test : tests) {
      FG_RETURN_IF_ERROR(arguments_.kernels ? PrintKernels(*engine, path, model, test)
                                            : PrintRow(*engine, path, model, test));
    }
    return Status::Ok();
  }

 private:
  // Of the CPU alone; null on a device, whose own programs measure its ceilings.
  Result<BenchCeiling*> Ceiling(const BenchModel& model) {
    if (!context_.device.is_cpu()) return static_cast<BenchCeiling*>(nullptr);
    if (ceiling_ == nullptr) {
      const Settings& settings = gates_.settings();
      FG_ASSIGN_OR_RETURN(ceiling_, BenchCeiling::Make(settings.cpu_level, settings.threads,
                                                       model.work.token_bytes));
      ceiling_->Measure();
    }
    return ceiling_.get();
  }

  Result<BenchSeries> Measure(Engine& engine, const BenchTest& test) {
    const int64_t repetitions = arguments_.repetitions;
    return test.prompt > 0 ? BenchPrefill(engine, test.prompt, repetitions, test.depth)
                           : BenchDecode(engine, test.tokens, test.depth, repetitions);
  }

  // The ceiling is measured before the first test and after each, so that a moment's noise does not
  // lower it.
  Status PrintRow(Engine& engine, const std::string& path, const BenchModel& model,
                  const BenchTest& test) {
    FG_ASSIGN_OR_RETURN(BenchCeiling* const ceiling, Ceiling(model));
    FG_ASSIGN_OR_RETURN(const BenchSeries series, Measure(engine, test));
    BenchRow row = RowOf(engine, model, test);
    row.file = path;
    row.seconds = series.seconds;
    row.more = MoreOf(context_, gates_, model, test);
    row.more["scratch_bytes"] = engine.memory().entry(MemoryCategory::kScratch).peak;
    if (ceiling != nullptr) {
      ceiling->Measure();
      row.ceiling =
          row.prefill() ? ceiling->int8_macs_per_second() : ceiling->read_bytes_per_second();
      if (!row.prefill()) row.more["read_buffer_bytes"] = ceiling->read_bytes();
    }
    printer_->Print(row);
    return Status::Ok();
  }

  BenchRow RowOf(const Engine& engine, const BenchModel& model, const BenchTest& test) const {
    const BenchWork& work = model.work;
    BenchRow row;
    row.model = work.model;
    row.size_bytes = work.size_bytes;
    row.parameters = work.parameters;
    row.level = CpuLevelName(gates_.settings().cpu_level);
    if (!context_.device.is_cpu()) {
      row.level = context_.device.hardware_class();
      row.device = context_.device.info()->name;
    }
    row.threads = gates_.settings().threads;
    row.batch = engine.batch();
    row.prompt = test.prompt;
    row.tokens = test.tokens;
    row.depth = test.depth;
    row.macs = row.prefill() ? work.PrefillMacs(test.prompt)
                             : test.tokens * (work.row_macs + work.tail_macs);
    row.bytes = row.prefill() ? 0 : work.DecodeBytes(test.depth, test.tokens);
    return row;
  }

  // One prefill, or one step of a decode.
  Status PrintKernels(Engine& engine, const std::string& path, const BenchModel& model,
                      const BenchTest& test) {
    const BenchTest one = {test.prompt, test.prompt > 0 ? 0 : 1, test.depth};
    FG_ASSIGN_OR_RETURN(const BenchSeries series, Measure(engine, one));
    KernelReport report;
    report.row = RowOf(engine, model, one);
    report.row.file = path;
    report.row.seconds = series.seconds;
    FG_ASSIGN_OR_RETURN(report.timed, BenchKernels(engine, one.rows(), one.depth));
    printer_->Print(report);
    return Status::Ok();
  }

  const CliContext& context_;
  const BenchArguments& arguments_;
  const Gates& gates_;
  Printer* printer_;
  std::unique_ptr<BenchCeiling> ceiling_;
};

Status CheckDevice(const CliContext& context, const BenchArguments& arguments) {
  if (!context.device.is_cpu() && !arguments.threads.empty()) {
    return Status(ErrorKind::kUsage,
                  "bench: -t counts threads of the CPU; leave it out on a device");
  }
  if (context.device.is_cpu() && arguments.kernels) {
    return Status(ErrorKind::kUsage,
                  "bench --kernels times the kernels of a device; add --device cuda");
  }
  return Status::Ok();
}

}  // namespace

Status BenchCommand(const CliContext& context, const BenchArguments& arguments) {
  FG_ASSIGN_OR_RETURN(const BenchForm form, ReadBenchForm(arguments.form));
  if (TestsOf(arguments).empty()) {
    return Status(ErrorKind::kUsage, "bench needs a test: -p or -n above 0");
  }
  FG_RETURN_IF_ERROR(CheckDevice(context, arguments));
  std::vector<BenchModel> models;
  for (const std::string& path : arguments.models) {
    FG_ASSIGN_OR_RETURN(BenchModel model, ReadModel(path));
    models.push_back(std::move(model));
  }
  std::vector<int> threads = arguments.threads;
  if (threads.empty()) threads.push_back(context.gates.settings().threads);
  Printer printer(form, arguments.kernels);
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
