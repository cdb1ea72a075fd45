// The vocabulary of a GGUF file (tokenizer.ggml.*), checked and made ready for encoding.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/gguf/gguf.h"
#include "engine/tokenizer/bpe.h"
#include "engine/tokenizer/special_tokens.h"

namespace fg {

// Values are those of tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct VocabularyToken {
  TokenKind kind = TokenKind::kNormal;
  std::string bytes;  // what it stands for: normal tokens out of the byte alphabet, others as spelt
};

struct Vocabulary {
  std::vector<VocabularyToken> tokens;
  std::array<int32_t, 256> byte_ids{};  // the token of each single byte
  Bpe bpe;
  SpecialTokens special;  // control and user-defined
  int32_t eos = -1, bos = -1;
  bool add_bos = false;
};

// kBadModel: a missing or mistyped key, a model or pre-tokenizer that is not known, a token that
// occurs twice or is not in the byte alphabet, a byte without a token, a merge that does not join
// two tokens to a third or occurs twice, an id out of range, more tokens than rows of the
// embedding.
Result<Vocabulary> ReadVocabulary(const GgufFile& file);

}  // namespace fg
