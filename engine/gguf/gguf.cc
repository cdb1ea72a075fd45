#include "engine/gguf/gguf.h"

#include <limits>
#include <utility>

#include "engine/gguf/printable.h"

namespace fg {
namespace {

Status WrongType(std::string_view name, const GgufValue& value, const char* wanted) {
  std::string is = GgufTypeName(value.type);
  if (const auto* array = std::get_if<GgufArray>(&value.data)) {
    is += std::string(" of ") + GgufTypeName(array->element);
  }
  return Status(ErrorKind::kBadModel,
                "key " + Printable(name) + " is " + is + "; it must be " + wanted);
}

Result<const GgufValue*> Required(const GgufFile& file, std::string_view name) {
  const GgufValue* value = file.FindKey(name);
  if (value != nullptr) return value;
  return Status(ErrorKind::kBadModel, "missing key " + Printable(name));
}

}  // namespace

const char* GgufTypeName(GgufValueType type) {
  switch (type) {
    case GgufValueType::kU8:
      return "u8";
    case GgufValueType::kI8:
      return "i8";
    case GgufValueType::kU16:
      return "u16";
    case GgufValueType::kI16:
      return "i16";
    case GgufValueType::kU32:
      return "u32";
    case GgufValueType::kI32:
      return "i32";
    case GgufValueType::kF32:
      return "f32";
    case GgufValueType::kBool:
      return "bool";
    case GgufValueType::kString:
      return "string";
    case GgufValueType::kArray:
      return "array";
    case GgufValueType::kU64:
      return "u64";
    case GgufValueType::kI64:
      return "i64";
    case GgufValueType::kF64:
      return "f64";
  }
  return "unknown";
}

uint64_t GgufArray::size() const {
  return std::visit([](const auto& vector) -> uint64_t { return vector.size(); }, values);
}

uint64_t GgufTensor::values() const {
  uint64_t product = 1;
  for (const uint64_t dimension : shape) product *= dimension;
  return product;
}

const GgufValue* GgufFile::FindKey(std::string_view name) const {
  for (const auto& [key, value] : keys_) {
    if (key == name) return &value;
  }
  return nullptr;
}

const GgufTensor* GgufFile::FindTensor(std::string_view name) const {
  for (const GgufTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

Result<uint64_t> GgufFile::GetUnsigned(std::string_view name) const {
  FG_ASSIGN_OR_RETURN(const GgufValue* value, Required(*this, name));
  if (const auto* number = std::get_if<uint64_t>(&value->data)) {
    if (value->type != GgufValueType::kBool) return *number;
  }
  const auto* number = std::get_if<int64_t>(&value->data);
  if (number == nullptr) return WrongType(name, *value, "an unsigned integer");
  if (*number >= 0) return static_cast<uint64_t>(*number);
  return Status(ErrorKind::kBadModel, "key " + Printable(name) + " is " +
                                          GgufTypeName(value->type) + " " +
                                          std::to_string(*number) + "; it must not be negative");
}

Result<double> GgufFile::GetFloat(std::string_view name) const {
  FG_ASSIGN_OR_RETURN(const GgufValue* value, Required(*this, name));
  if (const auto* number = std::get_if<double>(&value->data)) return *number;
  return WrongType(name, *value, "f32 or f64");
}

Result<bool> GgufFile::GetBool(std::string_view name) const {
  FG_ASSIGN_OR_RETURN(const GgufValue* value, Required(*this, name));
  if (value->type != GgufValueType::kBool) return WrongType(name, *value, "bool");
  return std::get<uint64_t>(value->data) == 1;
}

Result<std::string> GgufFile::GetString(std::string_view name) const {
  FG_ASSIGN_OR_RETURN(const GgufValue* value, Required(*this, name));
  if (const auto* text = std::get_if<std::string>(&value->data)) return *text;
  return WrongType(name, *value, "string");
}

Result<std::vector<std::string>> GgufFile::GetStrings(std::string_view name) const {
  FG_ASSIGN_OR_RETURN(const GgufValue* value, Required(*this, name));
  const auto* array = std::get_if<GgufArray>(&value->data);
  const auto* texts = array ? std::get_if<std::vector<std::string>>(&array->values) : nullptr;
  if (texts != nullptr) return *texts;
  return WrongType(name, *value, "an array of string");
}

Result<std::vector<int64_t>> GgufFile::GetIntegers(std::string_view name) const {
  FG_ASSIGN_OR_RETURN(const GgufValue* value, Required(*this, name));
  const auto* array = std::get_if<GgufArray>(&value->data);
  if (array == nullptr || array->element == GgufValueType::kBool) {
    return WrongType(name, *value, "an array of integers");
  }
  if (const auto* numbers = std::get_if<std::vector<int64_t>>(&array->values)) return *numbers;
  const auto* numbers = std::get_if<std::vector<uint64_t>>(&array->values);
  if (numbers == nullptr) return WrongType(name, *value, "an array of integers");
  std::vector<int64_t> result;
  result.reserve(numbers->size());
  for (const uint64_t number : *numbers) {
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Status(ErrorKind::kBadModel, "key " + Printable(name) + " holds " +
                                              std::to_string(number) +
                                              ", which does not fit 63 bits");
    }
    result.push_back(static_cast<int64_t>(number));
  }
  return result;
}

}  // namespace fg
