#include "engine/gguf/byte_reader.h"

#include <bit>

namespace fg {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

Status ByteReader::Need(uint64_t bytes, std::string_view what) const {
  if (bytes <= remaining()) return Status::Ok();
  std::string message = "truncated at byte " + std::to_string(position_) + ": ";
  message += what;
  if (!owner_.empty()) message += " of " + owner_;
  message +=
      " needs " + std::to_string(bytes) + " bytes, " + std::to_string(remaining()) + " remain";
  return Status(ErrorKind::kBadModel, std::move(message));
}

Status ByteReader::ReadString(std::string_view* out, std::string_view what) {
  // Strings come by the hundred thousand: the text for a refusal is made only for one.
  if (remaining() < sizeof(uint64_t)) {
    return Need(sizeof(uint64_t), "the length of " + std::string(what));
  }
  const uint64_t length = Take<uint64_t>();
  FG_RETURN_IF_ERROR(Need(length, what));
  *out = {reinterpret_cast<const char*>(bytes_.data() + position_), static_cast<size_t>(length)};
  position_ += length;
  return Status::Ok();
}

}  // namespace fg
