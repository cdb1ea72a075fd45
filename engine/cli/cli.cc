#include "engine/cli/cli.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <optional>

#include "base/nearest.h"
#include "engine/build_info.h"
#include "engine/cli/commands.h"
#include "engine/gguf/quantize.h"
#include "engine/readers/readers.h"

namespace fg {
namespace {

constexpr int kDone = 0, kUsage = 2, kMachine = 4;

int ExitCodeOf(const Status& status) {
  switch (status.kind()) {
    case ErrorKind::kOk:
      return kDone;
    case ErrorKind::kUsage:
    case ErrorKind::kBadRequest:
    case ErrorKind::kBadModel:
    case ErrorKind::kIo:  // nearly always a path that was given
      return kUsage;
    case ErrorKind::kRefused:
    case ErrorKind::kOutOfMemory:
    case ErrorKind::kDevice:
    case ErrorKind::kInternal:
      return kMachine;
  }
  return kMachine;
}

void Say(const std::string& message) { std::fprintf(stderr, "fg-engine: %s\n", message.c_str()); }

std::string Listed(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : ", ") + word;
  return list;
}

// The command line's options and what they fill.
class CommandLine {
 public:
  CommandLine()
      : app_("An LLM inference engine whose fast paths stand behind gates.", "fg-engine") {
    app_.set_version_flag("--version", VersionLine(ThisBuild()));
    app_.require_subcommand(1);
    AddRun();
    AddBench();
    AddFiles();
    AddOthers();
  }

  CLI::App& app() { return app_; }
  const std::string& device() const { return device_; }
  // Asked for in place of the device's own.
  const std::optional<std::string>& hardware_class() const { return hardware_class_; }
  Status Run(const CliContext& context) { return chosen_(context); }

 private:
  using Command = std::function<Status(const CliContext&)>;

  CLI::App* Add(const char* name, const char* description, Command command) {
    CLI::App* sub = app_.add_subcommand(name, description);
    sub->callback([this, command = std::move(command)] { chosen_ = command; });
    return sub;
  }
  // A command that loads a model: what its readers cannot do is said before it does.
  CLI::App* AddLoading(const char* name, const char* description, Command command) {
    return Add(name, description, [command = std::move(command)](const CliContext& context) {
      FG_RETURN_IF_ERROR(CheckReaders(context.gates.settings()));
      return command(context);
    });
  }
  void AddDevice(CLI::App* sub) {
    sub->add_option("--device", device_, "cpu, cuda, or auto: CUDA where there is one");
  }
  void AddJson(CLI::App* sub) { sub->add_flag("--json", json_, "Print JSON"); }

  void AddRun() {
    CLI::App* sub =
        AddLoading("run", "Answer a prompt, streaming the text",
                   [this](const CliContext& context) { return RunCommand(context, run_); });
    sub->add_option("-m,--model", run_.model, "GGUF file")->required();
    sub->add_option("-p,--prompt", run_.prompt, "The text to go on from");
    sub->add_option("-n,--tokens", run_.generate.max_tokens, "Most tokens to generate")
        ->check(CLI::NonNegativeNumber);
    SamplingOptions& sampling = run_.generate.sampling;
    sub->add_option("--temp", sampling.temperature, "Temperature; 0 is greedy");
    sub->add_option("--seed", sampling.seed, "Seed of the sampling");
    sub->add_option("--top-k", sampling.top_k, "Choose among the K likeliest; 0 is all");
    sub->add_option("--top-p", sampling.top_p, "Choose among the likeliest of this sum");
    sub->add_option("--context", run_.context, "Positions of the session; 0 is the model's");
    sub->add_option("--batch", run_.batch, "Most rows of one forward; 512, on a device 4096");
    AddDevice(sub);
    sub->add_flag("-i,--interactive", run_.interactive,
                  "Answer each line of standard input, in one session");
    sub->add_flag("--stats", run_.stats, "Say times and memory on standard error");
  }

  void AddBench() {
    CLI::App* sub =
        AddLoading("bench", "Measure tokens per second", [this](const CliContext& context) {
          if (json_) bench_.form = "json";
          return BenchCommand(context, bench_);
        });
    const auto several = [sub](const char* names, auto& values, const char* description) {
      return sub->add_option(names, values, description)->delimiter(',')->take_all();
    };
    several("-p,--n-prompt,--prefill", bench_.prompts, "Tokens of the prefill tests; 0 is none")
        ->check(CLI::NonNegativeNumber);
    several("-n,--n-gen,--decode", bench_.tokens, "Tokens of the decode tests; 0 is none")
        ->check(CLI::NonNegativeNumber);
    several("-d,--n-depth,--depth", bench_.depths, "Positions before each test")
        ->check(CLI::NonNegativeNumber);
    several("-t,--threads", bench_.threads, "Numbers of threads; FG_THREADS where none is given")
        ->check(CLI::Range(1, kMaxThreads));
    sub->add_option("-m,--model", bench_.models, "GGUF files, one a -m")->required()->take_all();
    sub->add_option("-r,--repetitions", bench_.repetitions, "Counted runs of each test")
        ->check(CLI::PositiveNumber);
    sub->add_option("-b,--batch-size,--batch", bench_.batch,
                    "Most rows of one forward; 512, on a device 4096");
    sub->add_flag("--kernels", bench_.kernels, "On a device: the time of each of its kernels");
    AddDevice(sub);
    sub->add_option("-o,--output", bench_.form, "md, csv or json");
    AddJson(sub);
  }

  void AddFiles() {
    CLI::App* info = Add("info", "Say what a GGUF file holds",
                         [this](const CliContext&) { return InfoCommand(model_, json_); });
    info->add_option("MODEL", model_, "GGUF file")->required();
    AddJson(info);

    CLI::App* quantize = Add("quantize", "Convert a model's weights", [this](const CliContext&) {
      return QuantizeCommand(model_, output_, mix_, json_);
    });
    const std::string mixes = "One of " + Listed(QuantizeMixes());
    quantize->add_option("IN", model_, "GGUF file to read")->required();
    quantize->add_option("OUT", output_, "GGUF file to write")->required();
    quantize->add_option("MIX", mix_, mixes)->required();
    AddJson(quantize);

    CLI::App* synth = Add("synth", "Write a model of random weights", [this](const CliContext&) {
      return SynthCommand(output_, synth_, json_);
    });
    synth->add_option("SHAPE", synth_.shape, "One of " + Listed(SynthShapes()))->required();
    synth->add_option("OUT", output_, "GGUF file to write")->required();
    synth->add_option("--mix", synth_.mix, mixes)->required();
    synth->add_option("--layers", synth_.layers, "Layers; 0 is the shape's own");
    synth->add_option("--seed", synth_.seed, "Seed of the weights");
    AddJson(synth);
  }

  void AddOthers() {
    CLI::App* gates = Add("gates", "Print the resolved gates", [this](const CliContext& context) {
      return GatesCommand(context.gates, json_);
    });
    gates->add_option("--class", hardware_class_, "Hardware class, instead of the device's");
    AddDevice(gates);
    AddJson(gates);

    CLI::App* faults = Add("faults", "List the planted faults",
                           [this](const CliContext&) { return FaultsCommand(json_); });
    AddJson(faults);
    AddDevice(
        AddLoading("probe", "Speak the probe protocol on standard input and output", ProbeCommand));
  }

  CLI::App app_;
  Command chosen_;
  RunArguments run_;
  BenchArguments bench_;
  SynthOptions synth_;
  std::string model_, output_, mix_, device_ = "cpu";
  std::optional<std::string> hardware_class_;
  bool json_ = false;
};

// A first word that is no command, said with the nearest one.
bool SayUnknownCommand(const CLI::App& app, std::span<const std::string> arguments) {
  if (arguments.empty() || arguments[0].starts_with("-")) return false;
  std::vector<std::string> known;
  for (const CLI::App* sub : app.get_subcommands({})) {
    if (sub->get_name() == arguments[0]) return false;
    known.push_back(sub->get_name());
  }
  Say("unknown command '" + arguments[0] + "'" + DidYouMean(arguments[0], known));
  return true;
}

// A write that failed shows when what was held back goes out.
Status FlushOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status::Ok();
  const std::string reason = errno != 0 ? std::strerror(errno) : "write failed";
  return Status(ErrorKind::kDevice, "standard output: " + reason);
}

// The gates' defaults hang on the device's class, so the device is opened first.
Status RunOnDevice(CommandLine& line, std::span<const std::string> environment) {
  FG_ASSIGN_OR_RETURN(const ChosenDevice chosen,
                      OpenDevice(line.device(), Gates::DeviceSettingsOf(environment)));
  if (!chosen.said.empty()) Say(chosen.said);
  const Device& device = chosen.device;
  if (!device.is_cpu() && !device.info()->cublaslt_missing.empty()) {
    Say("forwards of 16 rows or more will fail: " + device.info()->cublaslt_missing);
  }
  Ledger ledger;
  FG_ASSIGN_OR_RETURN(
      const Gates gates,
      Gates::FromEnvironment(environment, line.hardware_class().value_or(device.hardware_class()),
                             &ledger));
  for (const PeculiarVariable& peculiar : gates.peculiar()) Say(peculiar.message);
  return line.Run({device, gates, &ledger, environment});
}

int RunCommandLine(std::span<const std::string> arguments,
                   std::span<const std::string> environment) {
  CommandLine line;
  if (SayUnknownCommand(line.app(), arguments)) return kUsage;
  // CLI11 takes them in reverse.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    line.app().parse(reversed);
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return kDone;
  } catch (const CLI::CallForHelp&) {
    std::fputs(line.app().help().c_str(), stdout);
    return kDone;
  } catch (const CLI::ParseError& error) {
    Say(std::string(error.what()) + " (see fg-engine --help)");
    return kUsage;
  }
  Status status = RunOnDevice(line, environment);
  if (status.ok()) status = FlushOutput();
  if (!status.ok()) Say(status.message());
  return ExitCodeOf(status);
}

}  // namespace

int RunCli(std::span<const std::string> arguments, std::span<const std::string> environment) {
  try {
    return RunCommandLine(arguments, environment);
  } catch (const std::bad_alloc&) {
    Say("memory ran out");
  } catch (const std::exception& error) {
    Say(std::string("internal: ") + error.what());
  }
  return kMachine;
}

}  // namespace fg
