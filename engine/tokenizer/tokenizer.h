// Byte-level BPE as GGUF files carry it (tokenizer.ggml.*), pre-tokenizer qwen2. Linear in the
// text, no recursion.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/gguf/gguf.h"

namespace fg {

class Tokenizer {
 public:
  // kBadModel names what is missing or not known: the model (only 'gpt2'), the pre-tokenizer (only
  // 'qwen2'), a token or merge that does not fit.
  static Result<Tokenizer> FromGguf(const GgufFile& file);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Any bytes, valid UTF-8 or not (bytes that are not become tokens of their own). With `special`,
  // control and user-defined tokens spelt in the text become their ids; without, they are plain
  // text.
  std::vector<int32_t> Encode(std::string_view text, bool special = false) const;

  // The bytes that token `id` stands for; may be part of a character. Empty for an id out of range;
  // a control token gives nothing unless `special`.
  std::string Piece(int32_t id, bool special = false) const;

  int32_t vocabulary() const;
  int32_t eos() const;  // -1 when the file names none
  int32_t bos() const;  // -1 when the file names none
  bool add_bos() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Ids to text one by one: holds bytes back until a character is whole. The joined output of Push
// and Finish equals the joined pieces, but for bytes that can never become valid UTF-8: each
// maximal such part becomes one U+FFFD.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string Push(int32_t id);
  std::string Finish();  // what was held back; a cut character becomes U+FFFD

 private:
  const Tokenizer& tokenizer_;
  std::string held_;
};

}  // namespace fg
