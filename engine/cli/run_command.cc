#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "engine/cli/commands.h"
#include "engine/probe/server.h"
#include "engine/session/engine.h"

namespace fg {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

struct Turn {
  int64_t prompt_tokens = 0, generated = 0;
  double prompt_seconds = 0, generate_seconds = 0;  // up to the first token; after it
  std::string finish;
};

double Mebibytes(uint64_t bytes) { return static_cast<double>(bytes) / 1048576; }

void SayDevice(const Engine& engine, const Device& device) {
  if (device.is_cpu()) return;
  std::fprintf(stderr, "fg-engine: device %s: %s\n", device.hardware_class().c_str(),
               device.info()->name.c_str());
  const std::optional<DeviceMemory> memory = engine.device_memory();
  if (!memory) return;
  std::fprintf(stderr,
               "fg-engine: device memory %.2f MiB used of %.2f MiB, %.2f MiB before the load\n",
               Mebibytes(memory->used), Mebibytes(memory->total), Mebibytes(memory->used_before));
}

void SayStats(const Engine& engine, const Device& device, const Turn& turn) {
  const auto rate = [](int64_t tokens, double seconds) {
    return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
  };
  const int64_t later = turn.generated > 0 ? turn.generated - 1 : 0;
  std::fprintf(stderr,
               "fg-engine: load %.1f ms; prompt %lld tokens in %.3f s (%.1f tokens/s); "
               "generated %lld, %lld after the first in %.3f s (%.1f tokens/s); ended by %s\n",
               engine.load_milliseconds(), static_cast<long long>(turn.prompt_tokens),
               turn.prompt_seconds, rate(turn.prompt_tokens, turn.prompt_seconds),
               static_cast<long long>(turn.generated), static_cast<long long>(later),
               turn.generate_seconds, rate(later, turn.generate_seconds), turn.finish.c_str());
  for (int i = 0; i < kMemoryCategories; ++i) {
    const auto category = static_cast<MemoryCategory>(i);
    const MemoryBook::Entry& entry = engine.memory().entry(category);
    std::fprintf(stderr, "fg-engine: memory %s %.2f MiB at peak%s\n", MemoryCategoryName(category),
                 Mebibytes(entry.peak), entry.file_backed ? ", file-backed" : "");
  }
  SayDevice(engine, device);
}

// One prompt and its answer, written as it comes.
Result<Turn> Answer(Engine& engine, Conversation& conversation, const std::string& prompt,
                    const GenerateOptions& options) {
  const bool starts = conversation.session->position() == 0 && conversation.unfed.empty();
  const std::vector<int32_t> tokens = EncodePrompt(engine.tokenizer(), prompt, starts);
  StreamDecoder decoder(engine.tokenizer());
  const auto write = [](const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  };
  Turn turn;
  turn.prompt_tokens = static_cast<int64_t>(tokens.size() + conversation.unfed.size());
  const auto begin = Clock::now();
  auto first = begin;
  const auto generated = Generate(engine, conversation, tokens, options, [&](int32_t token) {
    if (turn.generated++ == 0) first = Clock::now();
    write(decoder.Push(token));
  });
  const auto end = Clock::now();
  // What was written stays a line of its own, also when an error follows.
  if (generated.ok() || turn.generated > 0) write(decoder.Finish() + "\n");
  if (!generated.ok()) return generated.status();
  turn.prompt_seconds = Seconds((turn.generated > 0 ? first : end) - begin);
  turn.generate_seconds = turn.generated > 0 ? Seconds(end - first) : 0;
  turn.finish = generated->finish;
  return turn;
}

// The next line that is not empty; false at the end of the input.
bool NextLine(std::string* line) {
  do {
    if (isatty(STDIN_FILENO) != 0) std::fputs("> ", stderr);
    if (!std::getline(std::cin, *line)) return false;
    if (line->ends_with('\r')) line->pop_back();
  } while (line->empty());
  return true;
}

}  // namespace

Status RunCommand(const CliContext& context, const RunArguments& arguments) {
  if (arguments.prompt.empty() && !arguments.interactive) {
    return Status(ErrorKind::kUsage,
                  "run needs a prompt: -p TEXT, or -i for lines of standard input");
  }
  const int64_t batch = arguments.batch.value_or(DefaultBatch(context.device));
  FG_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine,
                      Engine::Load(arguments.model, {arguments.context, batch}, context.device,
                                   context.gates, context.ledger));
  Conversation conversation;
  FG_ASSIGN_OR_RETURN(conversation.session, engine->NewSession());
  std::string prompt = arguments.prompt;
  while (!prompt.empty() || (arguments.interactive && NextLine(&prompt))) {
    FG_ASSIGN_OR_RETURN(const Turn turn, Answer(*engine, conversation, prompt, arguments.generate));
    if (arguments.stats) SayStats(*engine, context.device, turn);
    if (turn.finish == "context") {
      std::fprintf(stderr, "fg-engine: the context of %lld positions is full\n",
                   static_cast<long long>(engine->context()));
      break;
    }
    prompt.clear();
  }
  return Status::Ok();
}

}  // namespace fg
