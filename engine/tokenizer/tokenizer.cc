#include "engine/tokenizer/tokenizer.h"

#include <utility>

#include "engine/tokenizer/pretokenize_qwen2.h"
#include "engine/tokenizer/vocabulary.h"

namespace fg {

struct Tokenizer::Impl {
  Vocabulary vocabulary;

  void EncodePlain(std::string_view text, std::vector<int32_t>* ids) const {
    std::vector<int32_t> bytes;
    for (const std::string_view part : PretokenizeQwen2(text)) {
      bytes.clear();
      for (const char byte : part) bytes.push_back(vocabulary.byte_ids[static_cast<uint8_t>(byte)]);
      vocabulary.bpe.Apply(bytes, ids);
    }
  }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::FromGguf(const GgufFile& file) {
  auto impl = std::make_unique<Impl>();
  FG_ASSIGN_OR_RETURN(impl->vocabulary, ReadVocabulary(file));
  return Tokenizer(std::move(impl));
}

std::vector<int32_t> Tokenizer::Encode(std::string_view text, bool special) const {
  std::vector<int32_t> ids;
  size_t begin = 0;
  while (special && begin < text.size()) {
    const SpecialTokens::Hit hit = impl_->vocabulary.special.Find(text, begin);
    if (hit.bytes == 0) break;
    impl_->EncodePlain(text.substr(begin, hit.begin - begin), &ids);
    ids.push_back(hit.id);
    begin = hit.begin + hit.bytes;
  }
  impl_->EncodePlain(text.substr(begin), &ids);
  return ids;
}

std::string Tokenizer::Piece(int32_t id, bool special) const {
  if (id < 0 || id >= vocabulary()) return "";
  const VocabularyToken& token = impl_->vocabulary.tokens[static_cast<size_t>(id)];
  const bool hidden = token.kind == TokenKind::kControl || token.kind == TokenKind::kUnknown;
  return hidden && !special ? "" : token.bytes;
}

int32_t Tokenizer::vocabulary() const {
  return static_cast<int32_t>(impl_->vocabulary.tokens.size());
}
int32_t Tokenizer::eos() const { return impl_->vocabulary.eos; }
int32_t Tokenizer::bos() const { return impl_->vocabulary.bos; }
bool Tokenizer::add_bos() const { return impl_->vocabulary.add_bos; }

}  // namespace fg
