// Greedy streams of an engine over the project's prompts, and what to say when two of them fork.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gates/run_context.h"

namespace flipgate {

struct Prompt {
  std::string name;  // the file's, without .txt
  std::string text;
};

// All *.txt below `folder` (from the project's root), by name. kUsage when there is none.
fg::Result<std::vector<Prompt>> LoadPrompts(const Project& project, const std::string& folder);

struct Stream {
  std::string prompt;
  std::vector<int64_t> prompt_tokens, tokens;
  std::vector<std::string> digests;        // sha256 of each step's logits
  std::vector<std::array<double, 2>> top;  // the two highest logits per step
  std::vector<std::array<int64_t, 2>> top_tokens;
  std::string text;
};

struct StreamOptions {
  int64_t tokens = 32;
  int64_t rows_per_forward = 0;  // 0: the engine's batch
};

// One `generate` of at least one token, its stream called `prompt`. `request` holds session, prompt
// or tokens, max_tokens and what else it wants. A stream without any token is an error of the
// engine
// (`protocol`).
fg::Result<Stream> AskStream(CellEngine& engine, const std::string& prompt, fg::Json request);

// One stream a prompt, each in a session of its own.
fg::Result<std::vector<Stream>> CollectStreams(CellEngine& engine,
                                               const std::vector<Prompt>& prompts,
                                               const StreamOptions& options);

// Nothing when both are equal to the last token and logits digest and hold at least one token; else
// a sentence: prompt, step, both tokens, the margin of the top two on each side.
std::optional<std::string> FindFork(const std::vector<Stream>& a, const std::string& a_name,
                                    const std::vector<Stream>& b, const std::string& b_name);

int64_t CountTokens(const std::vector<Stream>& streams);
// sha256 over all tokens and digests: one word for "the same streams".
std::string StreamsDigest(const std::vector<Stream>& streams);
fg::Json StreamsJson(const std::vector<Stream>& streams);

}  // namespace flipgate
