// GGUF files, versions 2 and 3: bytes in, status out. Every count, offset and length is hostile
// until it is held against the bytes that remain. Format: docs/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "kernels/formats/tensor_type.h"

namespace fg {

// Values are the ids of the file format.
enum class GgufValueType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// "u8", "string", "array".
const char* GgufTypeName(GgufValueType type);

// Never an array of arrays. Values lie in one typed vector, so that a file of n bytes cannot make
// the reader take more than a small multiple of n.
struct GgufArray {
  GgufValueType element = GgufValueType::kU8;
  // unsigned types and bool as uint64_t, signed as int64_t, floats as double.
  std::variant<std::vector<uint64_t>, std::vector<int64_t>, std::vector<double>,
               std::vector<std::string>>
      values;

  uint64_t size() const;
};

struct GgufValue {
  GgufValueType type = GgufValueType::kU8;
  // As in GgufArray: one value, or an array.
  std::variant<uint64_t, int64_t, double, std::string, GgufArray> data;
};

struct GgufTensor {
  std::string name;
  TensorType type = TensorType::kF32;
  std::vector<uint64_t> shape;  // 1 to 4 dimensions, innermost first: [in, out] for a weight
  uint64_t offset = 0;          // from the start of the data, a multiple of the alignment
  uint64_t bytes = 0;
  const std::byte* data = nullptr;  // into the bytes that were parsed

  uint64_t values() const;  // product of the dimensions, below 2^63 (checked when parsed)
};

// A parsed file. Refers to the bytes it was parsed from: they must outlive it.
class GgufFile {
 public:
  // kBadModel with a message that names the key or tensor at fault. Nothing is kept on failure.
  // The same function is the fuzz target.
  static Result<GgufFile> Parse(std::span<const std::byte> bytes);

  const std::vector<std::pair<std::string, GgufValue>>& keys() const { return keys_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  uint64_t alignment() const { return alignment_; }
  const GgufValue* FindKey(std::string_view name) const;      // null when absent
  const GgufTensor* FindTensor(std::string_view name) const;  // null when absent

  // Typed look-ups: kBadModel when absent ("missing key 'X'") or of another type (both types
  // named). GetUnsigned takes any unsigned or non-negative signed integer type.
  Result<uint64_t> GetUnsigned(std::string_view name) const;
  Result<double> GetFloat(std::string_view name) const;  // f32 or f64
  Result<bool> GetBool(std::string_view name) const;
  Result<std::string> GetString(std::string_view name) const;
  Result<std::vector<std::string>> GetStrings(std::string_view name) const;
  Result<std::vector<int64_t>> GetIntegers(std::string_view name) const;  // within int64_t

 private:
  friend class GgufParser;

  std::vector<std::pair<std::string, GgufValue>> keys_;
  std::vector<GgufTensor> tensors_;
  uint64_t alignment_ = 32;
};

}  // namespace fg
