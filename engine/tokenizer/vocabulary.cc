#include "engine/tokenizer/vocabulary.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/gguf/printable.h"
#include "engine/tokenizer/byte_alphabet.h"

namespace fg {
namespace {

constexpr char kTokensKey[] = "tokenizer.ggml.tokens";
constexpr char kTypesKey[] = "tokenizer.ggml.token_type";
constexpr char kMergesKey[] = "tokenizer.ggml.merges";

Status Bad(std::string message) { return Status(ErrorKind::kBadModel, std::move(message)); }

// "tokenizer.ggml.merges[17] 'a b'"
std::string Entry(const char* key, size_t index, std::string_view text) {
  return std::string(key) + "[" + std::to_string(index) + "] " + Printable(text);
}

// Spellings of tokens in sorted order. Sorted, not hashed: a file cannot make look-ups slow.
class TokenIndex {
 public:
  static Result<TokenIndex> Make(const std::vector<std::string>& spellings) {
    TokenIndex index;
    for (size_t i = 0; i < spellings.size(); ++i) {
      index.sorted_.emplace_back(spellings[i], static_cast<int32_t>(i));
    }
    std::sort(index.sorted_.begin(), index.sorted_.end());
    for (size_t i = 1; i < index.sorted_.size(); ++i) {
      const auto& [spelling, id] = index.sorted_[i];
      if (index.sorted_[i - 1].first != spelling) continue;
      return Bad(Entry(kTokensKey, static_cast<size_t>(id), spelling) + " repeats token " +
                 std::to_string(index.sorted_[i - 1].second));
    }
    return index;
  }

  // -1 where no token is spelt so.
  int32_t Find(std::string_view spelling) const {
    const auto at = std::lower_bound(
        sorted_.begin(), sorted_.end(), spelling,
        [](const auto& entry, std::string_view value) { return entry.first < value; });
    return at != sorted_.end() && at->first == spelling ? at->second : -1;
  }

 private:
  std::vector<std::pair<std::string_view, int32_t>> sorted_;
};

Status CheckName(const GgufFile& file, const char* key, std::string_view known) {
  FG_ASSIGN_OR_RETURN(const std::string name, file.GetString(key));
  if (name == known) return Status::Ok();
  return Bad(std::string(key) + " " + Printable(name) +
             " is not known; known: " + std::string(known));
}

Result<std::vector<TokenKind>> ReadKinds(const GgufFile& file, size_t count) {
  std::vector<TokenKind> kinds(count, TokenKind::kNormal);
  if (file.FindKey(kTypesKey) == nullptr) return kinds;
  FG_ASSIGN_OR_RETURN(const std::vector<int64_t> values, file.GetIntegers(kTypesKey));
  if (values.size() != count) {
    return Bad(std::string(kTypesKey) + " has " + std::to_string(values.size()) + " entries, " +
               kTokensKey + " " + std::to_string(count));
  }
  for (size_t i = 0; i < count; ++i) {
    if (values[i] < 1 || values[i] > 6) {
      return Bad(std::string(kTypesKey) + "[" + std::to_string(i) + "] is " +
                 std::to_string(values[i]) + "; 1 to 6 are known");
    }
    kinds[i] = static_cast<TokenKind>(values[i]);
  }
  return kinds;
}

Status ReadTokens(const std::vector<std::string>& spellings, const std::vector<TokenKind>& kinds,
                  Vocabulary* vocabulary) {
  std::vector<std::pair<std::string, int32_t>> special;
  for (size_t i = 0; i < spellings.size(); ++i) {
    const int32_t id = static_cast<int32_t>(i);
    VocabularyToken token{kinds[i], spellings[i]};
    if (token.kind == TokenKind::kNormal) {
      std::optional<std::string> bytes = LettersToBytes(spellings[i]);
      if (!bytes.has_value()) {
        return Bad(Entry(kTokensKey, i, spellings[i]) +
                   " holds a character that stands for no byte");
      }
      token.bytes = std::move(*bytes);
    }
    const bool is_special =
        token.kind == TokenKind::kControl || token.kind == TokenKind::kUserDefined;
    if (is_special && !token.bytes.empty()) special.emplace_back(token.bytes, id);
    vocabulary->tokens.push_back(std::move(token));
  }
  vocabulary->special = SpecialTokens(std::move(special));
  return Status::Ok();
}

Status FindByteIds(const TokenIndex& tokens, const std::vector<TokenKind>& kinds,
                   std::array<int32_t, 256>* ids) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string letter = ByteToLetter(static_cast<uint8_t>(byte));
    const int32_t id = tokens.Find(letter);
    if (id < 0 || kinds[static_cast<size_t>(id)] != TokenKind::kNormal) {
      return Bad(std::string(kTokensKey) + " has no normal token " + Printable(letter) +
                 " for byte " + std::to_string(byte));
    }
    (*ids)[static_cast<size_t>(byte)] = id;
  }
  return Status::Ok();
}

// "left right": the letters hold no space, so the first one parts them.
Result<BpeMerge> ReadMerge(std::string_view text, size_t index, const TokenIndex& tokens,
                           const std::vector<TokenKind>& kinds) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0 || space + 1 == text.size()) {
    return Bad(Entry(kMergesKey, index, text) + " is not two tokens with a space between");
  }
  const std::string joined =
      std::string(text.substr(0, space)) + std::string(text.substr(space + 1));
  const auto find = [&](std::string_view spelling, int32_t* id) {
    *id = tokens.Find(spelling);
    if (*id >= 0 && kinds[static_cast<size_t>(*id)] == TokenKind::kNormal) return Status::Ok();
    return Bad(Entry(kMergesKey, index, text) + ": " + Printable(spelling) + " is no normal token");
  };
  BpeMerge merge{-1, -1, static_cast<int32_t>(index), -1};
  FG_RETURN_IF_ERROR(find(text.substr(0, space), &merge.left));
  FG_RETURN_IF_ERROR(find(text.substr(space + 1), &merge.right));
  FG_RETURN_IF_ERROR(find(joined, &merge.merged));
  return merge;
}

Status RefuseTwins(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string_view, size_t>> sorted;
  for (size_t i = 0; i < texts.size(); ++i) sorted.emplace_back(texts[i], i);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i - 1].first != sorted[i].first) continue;
    return Bad(Entry(kMergesKey, sorted[i].second, sorted[i].first) + " repeats merge " +
               std::to_string(sorted[i - 1].second));
  }
  return Status::Ok();
}

Status ReadMerges(const GgufFile& file, const TokenIndex& tokens,
                  const std::vector<TokenKind>& kinds, Vocabulary* vocabulary) {
  FG_ASSIGN_OR_RETURN(const std::vector<std::string> texts, file.GetStrings(kMergesKey));
  FG_RETURN_IF_ERROR(RefuseTwins(texts));
  std::vector<BpeMerge> merges;
  for (size_t i = 0; i < texts.size(); ++i) {
    FG_ASSIGN_OR_RETURN(const BpeMerge merge, ReadMerge(texts[i], i, tokens, kinds));
    merges.push_back(merge);
  }
  vocabulary->bpe = Bpe(std::move(merges), static_cast<int32_t>(kinds.size()));
  return Status::Ok();
}

// Leaves -1 where the file names none.
Status ReadId(const GgufFile& file, const char* key, size_t count, int32_t* id) {
  if (file.FindKey(key) == nullptr) return Status::Ok();
  FG_ASSIGN_OR_RETURN(const uint64_t value, file.GetUnsigned(key));
  if (value >= count) {
    return Bad(std::string(key) + " is " + std::to_string(value) + "; the vocabulary has " +
               std::to_string(count) + " tokens");
  }
  *id = static_cast<int32_t>(value);
  return Status::Ok();
}

Status CheckEmbedding(const GgufFile& file, size_t count) {
  const GgufTensor* table = file.FindTensor("token_embd.weight");
  if (table == nullptr || table->shape.size() != 2 || table->shape[1] >= count) return Status::Ok();
  return Bad(std::string(kTokensKey) + " has " + std::to_string(count) +
             " tokens, token_embd.weight only " + std::to_string(table->shape[1]) + " rows");
}

}  // namespace

Result<Vocabulary> ReadVocabulary(const GgufFile& file) {
  FG_RETURN_IF_ERROR(CheckName(file, "tokenizer.ggml.model", "gpt2"));
  FG_RETURN_IF_ERROR(CheckName(file, "tokenizer.ggml.pre", "qwen2"));
  FG_ASSIGN_OR_RETURN(const std::vector<std::string> spellings, file.GetStrings(kTokensKey));
  if (spellings.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    return Bad(std::string(kTokensKey) + " has too many entries for 31-bit ids");
  }
  FG_ASSIGN_OR_RETURN(const std::vector<TokenKind> kinds, ReadKinds(file, spellings.size()));
  FG_ASSIGN_OR_RETURN(const TokenIndex index, TokenIndex::Make(spellings));
  Vocabulary vocabulary;
  FG_RETURN_IF_ERROR(ReadTokens(spellings, kinds, &vocabulary));
  FG_RETURN_IF_ERROR(FindByteIds(index, kinds, &vocabulary.byte_ids));
  FG_RETURN_IF_ERROR(ReadMerges(file, index, kinds, &vocabulary));
  FG_RETURN_IF_ERROR(
      ReadId(file, "tokenizer.ggml.eos_token_id", spellings.size(), &vocabulary.eos));
  FG_RETURN_IF_ERROR(
      ReadId(file, "tokenizer.ggml.bos_token_id", spellings.size(), &vocabulary.bos));
  if (file.FindKey("tokenizer.ggml.add_bos_token") != nullptr) {
    FG_ASSIGN_OR_RETURN(vocabulary.add_bos, file.GetBool("tokenizer.ggml.add_bos_token"));
  }
  FG_RETURN_IF_ERROR(CheckEmbedding(file, spellings.size()));
  return vocabulary;
}

}  // namespace fg
