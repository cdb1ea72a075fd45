// The alphabet in which byte-level vocabularies are written: each byte is one printable character.
// Bytes 33-126, 161-172 and 174-255 stand for themselves, the others, in order, are U+0100 upward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fg {

// `byte` as it is spelt, in UTF-8.
std::string ByteToLetter(uint8_t byte);

// The bytes that `text`, UTF-8 in this alphabet, stands for; nothing if it holds another character.
std::optional<std::string> LettersToBytes(std::string_view text);

}  // namespace fg
