// Vocabularies and texts for the tests of engine/tokenizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/gguf/gguf_writer.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "engine/tokenizer/tokenizer.h"

namespace fg {

inline std::string ToUtf8(char32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  std::string out;
  int shift = code < 0x800 ? 6 : code < 0x10000 ? 12 : 18;
  const int lead = shift == 6 ? 0xC0 : shift == 12 ? 0xE0 : 0xF0;
  out += static_cast<char>(lead | static_cast<int>(code >> shift));
  for (shift -= 6; shift >= 0; shift -= 6) {
    out += static_cast<char>(0x80 | (code >> shift & 0x3F));
  }
  return out;
}

inline std::string Spelt(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += ByteToLetter(static_cast<uint8_t>(byte));
  return out;
}

// A vocabulary as a GGUF file: the bytes (id = byte), what `merges` make in order, then others.
class VocabularyFile {
 public:
  VocabularyFile() {
    for (int byte = 0; byte < 256; ++byte) Add(ByteToLetter(static_cast<uint8_t>(byte)), 1);
  }

  // Bytes, not spellings.
  VocabularyFile& Merge(std::string_view left, std::string_view right) {
    merges_.push_back(Spelt(left) + " " + Spelt(right));
    return Add(Spelt(left) + Spelt(right), 1);
  }
  // As spelt; kind as in tokenizer.ggml.token_type.
  VocabularyFile& Add(std::string spelling, int64_t kind) {
    tokens_.push_back(std::move(spelling));
    kinds_.push_back(kind);
    return *this;
  }

  std::vector<std::string>& tokens() { return tokens_; }
  std::vector<int64_t>& kinds() { return kinds_; }
  std::vector<std::string>& merges() { return merges_; }

  // Without data; more keys or tensors may be added to it.
  GgufWriter Writer() const {
    GgufWriter writer;
    writer.SetKey("tokenizer.ggml.model", GgufString("gpt2"));
    writer.SetKey("tokenizer.ggml.pre", GgufString("qwen2"));
    writer.SetKey("tokenizer.ggml.tokens", GgufStrings(tokens_));
    writer.SetKey("tokenizer.ggml.token_type", GgufI32s(kinds_));
    writer.SetKey("tokenizer.ggml.merges", GgufStrings(merges_));
    return writer;
  }

 private:
  std::vector<std::string> tokens_;
  std::vector<int64_t> kinds_;
  std::vector<std::string> merges_;
};

// The tensors of `writer` are all zeros.
inline Result<Tokenizer> TokenizerOf(const GgufWriter& writer) {
  std::vector<std::string> data;
  for (const GgufTensor& tensor : writer.tensors()) data.emplace_back(tensor.bytes, '\0');
  const std::string bytes = writer.Bytes(data);
  const Result<GgufFile> file =
      GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  if (!file.ok()) return file.status();
  return Tokenizer::FromGguf(*file);
}

// Bytes, one letter's merges, words and specials; enough for all that the tests say by hand.
inline VocabularyFile SmallVocabulary() {
  VocabularyFile file;
  file.Merge("h", "e").Merge("l", "l").Merge(" ", "w").Merge("he", "ll").Merge("hell", "o");
  file.Merge("A", "A").Merge("AA", "AA").Merge("\xF0", "\x9F").Merge("\xF0\x9F", "\x90");
  file.Add("<|end|>", 3).Add("<|endless|>", 3).Add("<user>", 4).Add("[PAD]", 5).Add("<unk>", 2);
  return file;
}

}  // namespace fg
