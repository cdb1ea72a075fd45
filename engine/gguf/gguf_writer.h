// Writes GGUF files, version 3. The same calls give the same bytes. Format: docs/gguf.md.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/gguf/file_sink.h"
#include "engine/gguf/gguf.h"
#include "kernels/formats/tensor_type.h"

namespace fg {

GgufValue GgufU32(uint32_t value);
GgufValue GgufF32(float value);
GgufValue GgufBool(bool value);
GgufValue GgufString(std::string value);
GgufValue GgufStrings(std::vector<std::string> values);
GgufValue GgufI32s(std::vector<int64_t> values);  // each within i32

// Keys and the tensor table. The data is not held: it is given as bytes or written by a callback.
class GgufWriter {
 public:
  // At the place of a key of that name, or behind the last one. The key general.alignment sets the
  // alignment and must be what a reader accepts.
  void SetKey(std::string_view name, GgufValue value);
  // `shape` innermost first, its first dimension a multiple of the type's block. Tensors lie in the
  // order of the calls. Set general.alignment before the first one.
  void AddTensor(std::string name, TensorType type, std::vector<uint64_t> shape);

  const std::vector<GgufTensor>& tensors() const { return tensors_; }  // data is null
  // Everything before the first tensor's data, padding included.
  std::string Head() const;
  // Zeros between the end of tensor `index` and what follows: every tensor's data is padded.
  uint64_t PaddingAfter(size_t index) const;

  // The whole file; data[i] holds the bytes of tensor i.
  std::string Bytes(std::span<const std::string> data) const;
  // Streams to `sink`: `write(i, sink)` writes the bytes of tensor i, exactly tensors()[i].bytes
  // (kInternal otherwise). The caller commits.
  Status WriteTo(FileSink* sink, const std::function<Status(size_t, FileSink*)>& write) const;

 private:
  uint64_t alignment() const;

  std::vector<std::pair<std::string, GgufValue>> keys_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace fg
