// Small files for the tests of engine/gguf and of what reads such files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/gguf/gguf_writer.h"

namespace fg {

inline std::span<const std::byte> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Every value type once and five tensors of different types and shapes; data bytes count upward.
inline std::string SampleGguf() {
  GgufWriter writer;
  writer.SetKey("general.architecture", GgufString("qwen2"));
  writer.SetKey("a.u8", {GgufValueType::kU8, uint64_t{200}});
  writer.SetKey("a.i8", {GgufValueType::kI8, int64_t{-100}});
  writer.SetKey("a.u16", {GgufValueType::kU16, uint64_t{60000}});
  writer.SetKey("a.i16", {GgufValueType::kI16, int64_t{-30000}});
  writer.SetKey("a.u32", GgufU32(4000000000u));
  writer.SetKey("a.i32", {GgufValueType::kI32, int64_t{-2000000000}});
  writer.SetKey("a.f32", GgufF32(0.5f));
  writer.SetKey("a.bool", GgufBool(true));
  writer.SetKey("a.u64", {GgufValueType::kU64, ~uint64_t{0}});
  writer.SetKey("a.i64", {GgufValueType::kI64, int64_t{-1} << 62});
  writer.SetKey("a.f64", {GgufValueType::kF64, 1e300});
  writer.SetKey("a.strings", GgufStrings({"one", "", "three"}));
  writer.SetKey("a.i32s", GgufI32s({-1, 0, 7}));
  writer.SetKey("a.bools", {GgufValueType::kArray,
                            GgufArray{GgufValueType::kBool, std::vector<uint64_t>{1, 0, 1}}});
  writer.SetKey("a.u64s", {GgufValueType::kArray,
                           GgufArray{GgufValueType::kU64, std::vector<uint64_t>{1, ~uint64_t{0}}}});
  writer.SetKey("a.f32s", {GgufValueType::kArray,
                           GgufArray{GgufValueType::kF32, std::vector<double>{0.25, -2.0}}});
  writer.AddTensor("norm", TensorType::kF32, {5});
  writer.AddTensor("half", TensorType::kF16, {3, 7});
  writer.AddTensor("small", TensorType::kQ4_0, {64, 2});
  writer.AddTensor("large", TensorType::kQ6_K, {256, 3});
  writer.AddTensor("deep", TensorType::kF32, {2, 3, 2, 2});
  std::vector<std::string> data;
  for (const GgufTensor& tensor : writer.tensors()) {
    data.emplace_back(tensor.bytes, '\0');
    for (size_t i = 0; i < data.back().size(); ++i) data.back()[i] = static_cast<char>(i);
  }
  return writer.Bytes(data);
}

}  // namespace fg
