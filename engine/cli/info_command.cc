#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "base/file.h"
#include "engine/cli/commands.h"
#include "engine/gguf/gguf.h"
#include "engine/gguf/printable.h"

namespace fg {
namespace {

// Arrays, vocabularies among them, are told by their length.
Json ValueJson(const GgufValue& value) {
  if (value.type == GgufValueType::kBool) return std::get<uint64_t>(value.data) != 0;
  if (const auto* array = std::get_if<GgufArray>(&value.data)) {
    return {{"array", array->size()}};
  }
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (const auto* number = std::get_if<double>(&value.data)) return *number;
  if (const auto* number = std::get_if<int64_t>(&value.data)) return *number;
  return std::get<uint64_t>(value.data);
}

std::string ValueText(const GgufValue& value) {
  if (const auto* array = std::get_if<GgufArray>(&value.data)) {
    return fmt::format("array of {}", array->size());
  }
  if (const auto* text = std::get_if<std::string>(&value.data)) return Printable(*text);
  if (value.type == GgufValueType::kF32) {
    return fmt::format("{}", static_cast<float>(std::get<double>(value.data)));
  }
  return ValueJson(value).dump();
}

struct TypeCount {
  int tensors = 0;
  uint64_t values = 0, bytes = 0;
};

std::map<std::string, TypeCount> CountTypes(const GgufFile& file) {
  std::map<std::string, TypeCount> types;
  for (const GgufTensor& tensor : file.tensors()) {
    TypeCount& count = types[InfoOf(tensor.type).name];
    ++count.tensors;
    count.values += tensor.values();
    count.bytes += tensor.bytes;
  }
  return types;
}

void PrintText(const std::string& path, size_t bytes, const GgufFile& file) {
  std::string text =
      fmt::format("{}: {} bytes, {} keys, {} tensors, alignment {}\n\nkeys\n", path, bytes,
                  file.keys().size(), file.tensors().size(), file.alignment());
  for (const auto& [name, value] : file.keys()) {
    const std::string quoted = Printable(name);
    text += fmt::format("  {:<42} {}\n", quoted.substr(1, quoted.size() - 2), ValueText(value));
  }
  text += "\ntypes\n";
  for (const auto& [name, count] : CountTypes(file)) {
    text += fmt::format("  {:<6} {:>5} tensors {:>14} values {:>14} bytes\n", name, count.tensors,
                        count.values, count.bytes);
  }
  text += "\ntensors\n";
  for (const GgufTensor& tensor : file.tensors()) {
    const std::string quoted = Printable(tensor.name);
    text += fmt::format("  {:<42} {:<6} [{}]\n", quoted.substr(1, quoted.size() - 2),
                        InfoOf(tensor.type).name, fmt::join(tensor.shape, ", "));
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Json FileJson(const std::string& path, size_t bytes, const GgufFile& file) {
  Json keys = Json::object(), types = Json::object(), tensors = Json::array();
  for (const auto& [name, value] : file.keys()) keys[name] = ValueJson(value);
  for (const auto& [name, count] : CountTypes(file)) {
    types[name] = {{"tensors", count.tensors}, {"values", count.values}, {"bytes", count.bytes}};
  }
  for (const GgufTensor& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"type", InfoOf(tensor.type).name},
                       {"shape", tensor.shape},
                       {"offset", tensor.offset},
                       {"bytes", tensor.bytes}});
  }
  return {{"file", path}, {"bytes", bytes}, {"alignment", file.alignment()},
          {"keys", keys}, {"types", types}, {"tensors", tensors}};
}

}  // namespace

Status InfoCommand(const std::string& model, bool json) {
  FG_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(model));
  const auto file = GgufFile::Parse(mapped.bytes());
  if (!file.ok()) return file.status().WithContext(model);
  const size_t bytes = mapped.bytes().size();
  if (json) {
    PrintJson(FileJson(model, bytes, *file));
  } else {
    PrintText(model, bytes, *file);
  }
  return Status::Ok();
}

}  // namespace fg
