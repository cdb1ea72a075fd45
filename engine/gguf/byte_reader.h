// A cursor over hostile bytes: every read is held against what remains, and a refusal names the
// offset and what was being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace fg {

class ByteReader {
 public:
  // The bytes must outlive the reader and every view it gives out.
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // "key 'x'": what the parts read from now on belong to; empty for parts of the file itself.
  void SetOwner(std::string owner) { owner_ = std::move(owner); }
  const std::string& owner() const { return owner_; }

  // kBadModel "truncated at byte P: WHAT of OWNER needs N bytes, R remain" unless N bytes remain.
  Status Need(uint64_t bytes, std::string_view what) const;

  // A little-endian number of a fixed size.
  template <typename T>
  Status Read(T* out, std::string_view what) {
    FG_RETURN_IF_ERROR(Need(sizeof(T), what));
    *out = Take<T>();
    return Status::Ok();
  }

  // The same where the caller has asked Need() for it.
  template <typename T>
  T Take() {
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // A u64 length and that many bytes; the view lies in the bytes of the reader.
  Status ReadString(std::string_view* out, std::string_view what);

 private:
  std::span<const std::byte> bytes_;
  uint64_t position_ = 0;
  std::string owner_;
};

}  // namespace fg
