#include "engine/gguf/gguf_parser.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "engine/gguf/printable.h"

namespace fg {
namespace {

// The shortest key: an empty name's length, a type, one byte. The shortest tensor entry: an empty
// name's length, the number of dimensions, one dimension, type, offset.
constexpr uint64_t kKeyBytes = 8 + 4 + 1;
constexpr uint64_t kTensorBytes = 8 + 4 + 8 + 4 + 8;

Status Bad(std::string message) { return Status(ErrorKind::kBadModel, std::move(message)); }

std::string Number(uint64_t value) { return std::to_string(value); }

std::string ShapeText(const std::vector<uint64_t>& shape) {
  std::string text = "(";
  for (const uint64_t dimension : shape) {
    if (text.size() > 1) text += ", ";
    text += Number(dimension);
  }
  return text + ")";
}

// Types of other engines that users meet in files; they are named when they are refused.
const char* ForeignTypeName(uint32_t id) {
  constexpr std::pair<uint32_t, const char*> kForeign[] = {
      {9, "q8_1"},   {15, "q8_K"},   {16, "iq2_xxs"}, {17, "iq2_xs"}, {18, "iq3_xxs"},
      {19, "iq1_s"}, {20, "iq4_nl"}, {21, "iq3_s"},   {22, "iq2_s"},  {23, "iq4_xs"},
      {24, "i8"},    {25, "i16"},    {26, "i32"},     {27, "i64"},    {28, "f64"},
      {29, "iq1_m"}, {34, "tq1_0"},  {35, "tq2_0"},   {39, "mxfp4"},
  };
  for (const auto& [known, name] : kForeign) {
    if (known == id) return name;
  }
  return nullptr;
}

std::string KnownTypeNames() {
  constexpr uint32_t kIdsTried = 64;
  std::string names;
  for (uint32_t id = 0; id < kIdsTried; ++id) {
    const TensorTypeInfo* info = FindTensorType(id);
    if (info != nullptr) names += (names.empty() ? "" : ", ") + std::string(info->name);
  }
  return names;
}

// "i32 -32", "string '32'": a value as a refusal shows it.
std::string ValueText(const GgufValue& value) {
  std::string text = GgufTypeName(value.type);
  if (const auto* u = std::get_if<uint64_t>(&value.data)) return text + " " + Number(*u);
  if (const auto* i = std::get_if<int64_t>(&value.data)) return text + " " + std::to_string(*i);
  if (const auto* d = std::get_if<double>(&value.data)) return text + " " + std::to_string(*d);
  if (const auto* s = std::get_if<std::string>(&value.data)) return text + " " + Printable(*s);
  return text;
}

// Calls f.operator()<Raw, Wide>(): the type in the file and the type in memory. False for a type
// that is no number of fixed size.
template <typename F>
bool WithNumberType(GgufValueType type, F&& f) {
  switch (type) {
    case GgufValueType::kU8:
    case GgufValueType::kBool:
      f.template operator()<uint8_t, uint64_t>();
      return true;
    case GgufValueType::kI8:
      f.template operator()<int8_t, int64_t>();
      return true;
    case GgufValueType::kU16:
      f.template operator()<uint16_t, uint64_t>();
      return true;
    case GgufValueType::kI16:
      f.template operator()<int16_t, int64_t>();
      return true;
    case GgufValueType::kU32:
      f.template operator()<uint32_t, uint64_t>();
      return true;
    case GgufValueType::kI32:
      f.template operator()<int32_t, int64_t>();
      return true;
    case GgufValueType::kF32:
      f.template operator()<float, double>();
      return true;
    case GgufValueType::kU64:
      f.template operator()<uint64_t, uint64_t>();
      return true;
    case GgufValueType::kI64:
      f.template operator()<int64_t, int64_t>();
      return true;
    case GgufValueType::kF64:
      f.template operator()<double, double>();
      return true;
    case GgufValueType::kString:
    case GgufValueType::kArray:
      return false;
  }
  return false;
}

// Reads a type id; the id may be anything.
Status ReadValueType(ByteReader* in, std::string_view what, GgufValueType* type) {
  const uint64_t at = in->position();
  uint32_t id = 0;
  FG_RETURN_IF_ERROR(in->Read(&id, what));
  if (id > static_cast<uint32_t>(GgufValueType::kF64)) {
    return Bad(in->owner() + ": " + std::string(what) + " at byte " + Number(at) + " is " +
               Number(id) + "; 0 to 12 are known");
  }
  *type = static_cast<GgufValueType>(id);
  return Status::Ok();
}

Status CheckBool(const ByteReader& in, uint64_t at, uint64_t value) {
  if (value <= 1) return Status::Ok();
  return Bad(in.owner() + ": the bool at byte " + Number(at) + " is " + Number(value) +
             "; only 0 and 1 are allowed");
}

// Sorts rather than hashes: a file cannot choose its names so that this takes quadratic time.
Status RefuseTwins(const char* kind, const std::vector<std::string_view>& names) {
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&names](size_t a, size_t b) {
    return names[a] != names[b] ? names[a] < names[b] : a < b;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (names[order[i - 1]] != names[order[i]]) continue;
    return Bad(std::string(kind) + " " + Printable(names[order[i]]) + " appears twice: entries " +
               Number(order[i - 1] + 1) + " and " + Number(order[i] + 1));
  }
  return Status::Ok();
}

}  // namespace

Result<GgufFile> GgufFile::Parse(std::span<const std::byte> bytes) {
  return GgufParser(bytes).Run();
}

Result<GgufFile> GgufParser::Run() {
  FG_RETURN_IF_ERROR(ReadHeader());
  FG_RETURN_IF_ERROR(ReadKeys());
  FG_RETURN_IF_ERROR(ReadAlignment());
  FG_RETURN_IF_ERROR(RefuseSplit());
  FG_RETURN_IF_ERROR(ReadTensors());
  FG_RETURN_IF_ERROR(PlaceTensors());
  FG_RETURN_IF_ERROR(RefuseOverlaps());
  return std::move(file_);
}

Status GgufParser::ReadHeader() {
  if (bytes_.empty()) return Bad("the file is empty; a GGUF file begins with 'GGUF'");
  FG_RETURN_IF_ERROR(in_.Need(4, "the magic"));
  const std::string_view magic(reinterpret_cast<const char*>(bytes_.data()), 4);
  in_.Take<uint32_t>();
  constexpr char kBigEndian[] =
      "big-endian GGUF is not supported; convert the file to little-endian";
  if (magic == "FUGG") return Bad(kBigEndian);
  if (magic != "GGUF")
    return Bad("not a GGUF file: it begins with " + Printable(magic) + ", not 'GGUF'");
  uint32_t version = 0;
  FG_RETURN_IF_ERROR(in_.Read(&version, "the version"));
  if (version != 0 && (version & 0xFFFF) == 0) return Bad(kBigEndian);
  if (version == 1) {
    return Bad("GGUF version 1 (32-bit counts) is not supported; convert the file to version 3");
  }
  if (version != 2 && version != 3) {
    return Bad("GGUF version " + Number(version) + " is not known; known: 2, 3");
  }
  FG_RETURN_IF_ERROR(in_.Read(&tensor_count_, "the number of tensors"));
  FG_RETURN_IF_ERROR(in_.Read(&key_count_, "the number of keys"));
  const auto check = [this](const char* what, uint64_t count, uint64_t least) {
    if (count <= in_.remaining() / least) return Status::Ok();
    return Bad("truncated at byte " + Number(in_.position()) + ": the header declares " +
               Number(count) + " " + what + " of at least " + Number(least) + " bytes each, " +
               Number(in_.remaining()) + " bytes remain");
  };
  FG_RETURN_IF_ERROR(check("keys", key_count_, kKeyBytes));
  return check("tensors", tensor_count_, kTensorBytes);
}

Status GgufParser::ReadKeys() {
  std::vector<std::string_view> names;
  for (uint64_t i = 0; i < key_count_; ++i) {
    in_.SetOwner("key " + Number(i + 1) + " of " + Number(key_count_));
    std::string_view name;
    FG_RETURN_IF_ERROR(in_.ReadString(&name, "the name"));
    if (name.empty()) return Bad(in_.owner() + " has an empty name");
    in_.SetOwner("key " + Printable(name));
    GgufValue value;
    FG_RETURN_IF_ERROR(ReadValueType(&in_, "the value type", &value.type));
    FG_RETURN_IF_ERROR(ReadValue(&value));
    names.push_back(name);
    file_.keys_.emplace_back(std::string(name), std::move(value));
  }
  return RefuseTwins("key", names);
}

Status GgufParser::ReadValue(GgufValue* value) {
  if (value->type == GgufValueType::kString) {
    std::string_view text;
    FG_RETURN_IF_ERROR(in_.ReadString(&text, "the string"));
    value->data = std::string(text);
    return Status::Ok();
  }
  if (value->type == GgufValueType::kArray) return ReadArray(&value->data.emplace<GgufArray>());
  Status status;
  const uint64_t at = in_.position();
  WithNumberType(value->type, [&]<typename Raw, typename Wide>() {
    Raw raw{};
    status = in_.Read(&raw, "the value");
    value->data = static_cast<Wide>(raw);
  });
  FG_RETURN_IF_ERROR(status);
  if (value->type != GgufValueType::kBool) return Status::Ok();
  return CheckBool(in_, at, std::get<uint64_t>(value->data));
}

Status GgufParser::ReadArray(GgufArray* array) {
  FG_RETURN_IF_ERROR(ReadValueType(&in_, "the element type", &array->element));
  if (array->element == GgufValueType::kArray) {
    return Bad(in_.owner() + ": arrays of arrays are not supported");
  }
  uint64_t count = 0;
  FG_RETURN_IF_ERROR(in_.Read(&count, "the array's length"));
  const auto check = [&](uint64_t least) {
    if (count <= in_.remaining() / least) return Status::Ok();
    return Bad("truncated at byte " + Number(in_.position()) + ": " + in_.owner() + " declares " +
               Number(count) + " elements (" + GgufTypeName(array->element) + "), " +
               Number(in_.remaining()) + " bytes remain");
  };
  if (array->element == GgufValueType::kString) {
    FG_RETURN_IF_ERROR(check(sizeof(uint64_t)));
    auto& values = array->values.emplace<std::vector<std::string>>();
    for (uint64_t i = 0; i < count; ++i) {
      std::string_view text;
      FG_RETURN_IF_ERROR(in_.ReadString(&text, "an array's string"));
      values.emplace_back(text);
    }
    return Status::Ok();
  }
  const bool is_bool = array->element == GgufValueType::kBool;
  Status status;
  WithNumberType(array->element, [&]<typename Raw, typename Wide>() {
    status = check(sizeof(Raw));
    if (!status.ok()) return;
    auto& values = array->values.template emplace<std::vector<Wide>>();
    values.reserve(count);
    for (uint64_t i = 0; i < count && status.ok(); ++i) {
      const uint64_t at = in_.position();
      values.push_back(static_cast<Wide>(in_.Take<Raw>()));
      if (is_bool) status = CheckBool(in_, at, static_cast<uint64_t>(values.back()));
    }
  });
  return status;
}

Status GgufParser::ReadAlignment() {
  const GgufValue* value = file_.FindKey("general.alignment");
  if (value == nullptr) return Status::Ok();
  if (value->type == GgufValueType::kU32) {
    const uint64_t alignment = std::get<uint64_t>(value->data);
    if (std::has_single_bit(alignment) && alignment >= 8 && alignment <= 65536) {
      file_.alignment_ = alignment;
      return Status::Ok();
    }
  }
  return Bad("key 'general.alignment' is " + ValueText(*value) +
             "; it must be a u32, a power of two from 8 to 65536");
}

Status GgufParser::RefuseSplit() const {
  const GgufValue* value = file_.FindKey("split.count");
  if (value == nullptr) return Status::Ok();
  FG_ASSIGN_OR_RETURN(const uint64_t parts, file_.GetUnsigned("split.count"));
  if (parts <= 1) return Status::Ok();
  return Bad("the model is split over " + Number(parts) +
             " files (key 'split.count'), which is not supported; merge them into one file first");
}

Status GgufParser::ReadTensors() {
  std::vector<std::string_view> names;
  for (uint64_t i = 0; i < tensor_count_; ++i) {
    in_.SetOwner("tensor " + Number(i + 1) + " of " + Number(tensor_count_));
    std::string_view name;
    FG_RETURN_IF_ERROR(in_.ReadString(&name, "the name"));
    if (name.empty()) return Bad(in_.owner() + " has an empty name");
    in_.SetOwner("tensor " + Printable(name));
    GgufTensor tensor;
    tensor.name = std::string(name);
    FG_RETURN_IF_ERROR(ReadShape(&tensor));
    FG_RETURN_IF_ERROR(ReadTypeAndSize(&tensor));
    FG_RETURN_IF_ERROR(in_.Read(&tensor.offset, "the offset"));
    if (tensor.offset % file_.alignment_ != 0) {
      return Bad(in_.owner() + ": offset " + Number(tensor.offset) +
                 " is no multiple of the alignment " + Number(file_.alignment_));
    }
    names.push_back(name);
    file_.tensors_.push_back(std::move(tensor));
  }
  return RefuseTwins("tensor", names);
}

Status GgufParser::ReadShape(GgufTensor* tensor) {
  uint32_t dimensions = 0;
  FG_RETURN_IF_ERROR(in_.Read(&dimensions, "the number of dimensions"));
  if (dimensions < 1 || dimensions > 4) {
    return Bad(in_.owner() + " has " + Number(dimensions) + " dimensions; 1 to 4 are allowed");
  }
  std::optional<uint64_t> product = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    uint64_t dimension = 0;
    FG_RETURN_IF_ERROR(in_.Read(&dimension, "dimension " + Number(i + 1)));
    tensor->shape.push_back(dimension);
    if (product.has_value()) product = CheckedMul(*product, dimension);
  }
  if (std::find(tensor->shape.begin(), tensor->shape.end(), 0u) != tensor->shape.end()) {
    return Bad(in_.owner() + " has a zero dimension: " + ShapeText(tensor->shape));
  }
  constexpr uint64_t kLimit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!product.has_value() || *product > kLimit) {
    return Bad(in_.owner() + " has too many values: " + ShapeText(tensor->shape));
  }
  return Status::Ok();
}

Status GgufParser::ReadTypeAndSize(GgufTensor* tensor) {
  uint32_t id = 0;
  FG_RETURN_IF_ERROR(in_.Read(&id, "the type"));
  const TensorTypeInfo* info = FindTensorType(id);
  if (info == nullptr) {
    const char* name = ForeignTypeName(id);
    return Bad(in_.owner() + " has type " + Number(id) +
               (name != nullptr ? " (" + std::string(name) + ")" : "") +
               ", which is not supported; known: " + KnownTypeNames());
  }
  tensor->type = info->type;
  const uint64_t block = static_cast<uint64_t>(info->block_values);
  if (tensor->shape[0] % block != 0) {
    return Bad(in_.owner() + ": rows of " + Number(tensor->shape[0]) +
               " values are no multiple of " + Number(block) + ", the block of " + info->name);
  }
  const std::optional<uint64_t> bytes =
      CheckedMul(tensor->values() / block, static_cast<uint64_t>(info->block_bytes));
  if (!bytes.has_value()) {
    return Bad(in_.owner() + " has too many bytes: " + ShapeText(tensor->shape) + " of " +
               info->name);
  }
  tensor->bytes = *bytes;
  return Status::Ok();
}

Status GgufParser::PlaceTensors() {
  const std::optional<uint64_t> start = CheckedAlignUp(in_.position(), file_.alignment_);
  const uint64_t size = start.has_value() && *start < bytes_.size() ? bytes_.size() - *start : 0;
  for (GgufTensor& tensor : file_.tensors_) {
    // Subtractions only: a sum of offset and size could wrap.
    if (tensor.offset > size || tensor.bytes > size - tensor.offset) {
      return Bad("tensor " + Printable(tensor.name) + ": its " + Number(tensor.bytes) +
                 " bytes at offset " + Number(tensor.offset) +
                 " reach past the end of the data, which has " + Number(size) +
                 " bytes; the file is truncated or damaged");
    }
    tensor.data = bytes_.data() + *start + tensor.offset;
  }
  return Status::Ok();
}

Status GgufParser::RefuseOverlaps() const {
  std::vector<const GgufTensor*> order;
  for (const GgufTensor& tensor : file_.tensors_) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& before = *order[i - 1];
    if (before.offset + before.bytes <= order[i]->offset) continue;  // both lie inside the data
    return Bad("tensor " + Printable(order[i]->name) + " at offset " + Number(order[i]->offset) +
               " overlaps tensor " + Printable(before.name) + ", which has " +
               Number(before.bytes) + " bytes at offset " + Number(before.offset));
  }
  return Status::Ok();
}

}  // namespace fg
