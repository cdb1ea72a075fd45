#include "engine/gguf/gguf_writer.h"

#include <algorithm>
#include <cassert>

namespace fg {
namespace {

constexpr uint64_t kDefaultAlignment = 32;

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void PutString(std::string* out, std::string_view text) {
  Put<uint64_t>(out, text.size());
  *out += text;
}

void PutType(std::string* out, GgufValueType type) { Put(out, static_cast<uint32_t>(type)); }

void PutData(std::string* out, GgufValueType type, uint64_t value) {
  switch (type) {
    case GgufValueType::kU8:
    case GgufValueType::kBool:
      return Put(out, static_cast<uint8_t>(value));
    case GgufValueType::kU16:
      return Put(out, static_cast<uint16_t>(value));
    case GgufValueType::kU32:
      return Put(out, static_cast<uint32_t>(value));
    default:
      assert(type == GgufValueType::kU64);
      return Put(out, value);
  }
}

void PutData(std::string* out, GgufValueType type, int64_t value) {
  switch (type) {
    case GgufValueType::kI8:
      return Put(out, static_cast<int8_t>(value));
    case GgufValueType::kI16:
      return Put(out, static_cast<int16_t>(value));
    case GgufValueType::kI32:
      return Put(out, static_cast<int32_t>(value));
    default:
      assert(type == GgufValueType::kI64);
      return Put(out, value);
  }
}

void PutData(std::string* out, GgufValueType type, double value) {
  if (type == GgufValueType::kF32) return Put(out, static_cast<float>(value));
  assert(type == GgufValueType::kF64);
  Put(out, value);
}

void PutData(std::string* out, GgufValueType type, const std::string& text) {
  assert(type == GgufValueType::kString);
  static_cast<void>(type);
  PutString(out, text);
}

void PutData(std::string* out, GgufValueType, const GgufArray& array) {
  PutType(out, array.element);
  Put<uint64_t>(out, array.size());
  std::visit(
      [out, &array](const auto& values) {
        for (const auto& value : values) PutData(out, array.element, value);
      },
      array.values);
}

template <typename T>
GgufValue Make(GgufValueType type, T data) {
  GgufValue value;
  value.type = type;
  value.data.template emplace<T>(std::move(data));
  return value;
}

}  // namespace

GgufValue GgufU32(uint32_t value) { return Make(GgufValueType::kU32, uint64_t{value}); }
GgufValue GgufF32(float value) { return Make(GgufValueType::kF32, double{value}); }
GgufValue GgufBool(bool value) { return Make(GgufValueType::kBool, uint64_t{value}); }
GgufValue GgufString(std::string value) { return Make(GgufValueType::kString, std::move(value)); }
GgufValue GgufStrings(std::vector<std::string> values) {
  return Make(GgufValueType::kArray, GgufArray{GgufValueType::kString, std::move(values)});
}
GgufValue GgufI32s(std::vector<int64_t> values) {
  return Make(GgufValueType::kArray, GgufArray{GgufValueType::kI32, std::move(values)});
}

void GgufWriter::SetKey(std::string_view name, GgufValue value) {
  const auto at = std::find_if(keys_.begin(), keys_.end(),
                               [name](const auto& key) { return key.first == name; });
  if (at != keys_.end()) {
    at->second = std::move(value);
  } else {
    keys_.emplace_back(std::string(name), std::move(value));
  }
}

void GgufWriter::AddTensor(std::string name, TensorType type, std::vector<uint64_t> shape) {
  GgufTensor tensor{std::move(name), type, std::move(shape)};
  const TensorTypeInfo& info = InfoOf(type);
  assert(tensor.shape[0] % static_cast<uint64_t>(info.block_values) == 0);
  tensor.bytes = tensor.values() / static_cast<uint64_t>(info.block_values) *
                 static_cast<uint64_t>(info.block_bytes);
  if (!tensors_.empty()) {
    tensor.offset =
        tensors_.back().offset + tensors_.back().bytes + PaddingAfter(tensors_.size() - 1);
  }
  tensors_.push_back(std::move(tensor));
}

uint64_t GgufWriter::alignment() const {
  for (const auto& [name, value] : keys_) {
    if (name == "general.alignment") return std::get<uint64_t>(value.data);
  }
  return kDefaultAlignment;
}

uint64_t GgufWriter::PaddingAfter(size_t index) const {
  const uint64_t rest = tensors_[index].bytes % alignment();
  return rest == 0 ? 0 : alignment() - rest;
}

std::string GgufWriter::Head() const {
  std::string out = "GGUF";
  Put<uint32_t>(&out, 3);
  Put<uint64_t>(&out, tensors_.size());
  Put<uint64_t>(&out, keys_.size());
  for (const auto& [name, value] : keys_) {
    PutString(&out, name);
    PutType(&out, value.type);
    std::visit([&](const auto& data) { PutData(&out, value.type, data); }, value.data);
  }
  for (const GgufTensor& tensor : tensors_) {
    PutString(&out, tensor.name);
    Put(&out, static_cast<uint32_t>(tensor.shape.size()));
    for (const uint64_t dimension : tensor.shape) Put(&out, dimension);
    Put(&out, static_cast<uint32_t>(tensor.type));
    Put(&out, tensor.offset);
  }
  out.resize((out.size() + alignment() - 1) / alignment() * alignment());
  return out;
}

std::string GgufWriter::Bytes(std::span<const std::string> data) const {
  assert(data.size() == tensors_.size());
  std::string out = Head();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    assert(data[i].size() == tensors_[i].bytes);
    out += data[i];
    out.append(PaddingAfter(i), '\0');
  }
  return out;
}

Status GgufWriter::WriteTo(FileSink* sink,
                           const std::function<Status(size_t, FileSink*)>& write) const {
  FG_RETURN_IF_ERROR(sink->Write(Head()));
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const uint64_t before = sink->written();
    FG_RETURN_IF_ERROR(write(i, sink));
    if (sink->written() - before != tensors_[i].bytes) {
      return Status(ErrorKind::kInternal, "tensor '" + tensors_[i].name + "' was written with " +
                                              std::to_string(sink->written() - before) +
                                              " bytes, " + std::to_string(tensors_[i].bytes) +
                                              " were planned");
    }
    FG_RETURN_IF_ERROR(sink->Write(std::string(PaddingAfter(i), '\0')));
  }
  return Status::Ok();
}

}  // namespace fg
