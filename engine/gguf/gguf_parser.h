// The parser behind GgufFile::Parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gguf/byte_reader.h"
#include "engine/gguf/gguf.h"

namespace fg {

// One pass over the bytes, without recursion. Memory taken is bounded by a small multiple of the
// bytes read so far: no declared count is believed.
class GgufParser {
 public:
  explicit GgufParser(std::span<const std::byte> bytes) : bytes_(bytes), in_(bytes) {}

  Result<GgufFile> Run();

 private:
  Status ReadHeader();
  Status ReadKeys();
  Status ReadValue(GgufValue* value);
  Status ReadArray(GgufArray* array);
  Status ReadAlignment();
  Status RefuseSplit() const;
  Status ReadTensors();
  Status ReadShape(GgufTensor* tensor);
  Status ReadTypeAndSize(GgufTensor* tensor);
  Status PlaceTensors();
  Status RefuseOverlaps() const;

  std::span<const std::byte> bytes_;
  ByteReader in_;
  uint64_t tensor_count_ = 0;
  uint64_t key_count_ = 0;
  GgufFile file_;
};

}  // namespace fg
