#include "engine/probe/op_inputs.h"

#include <bit>
#include <optional>

#include "base/checked.h"
#include "base/file.h"
#include "base/nearest.h"
#include "kernels/formats/tensor_type.h"

namespace fg {
namespace {

static_assert(std::endian::native == std::endian::little, "files are raw little-endian");

std::optional<uint64_t> ProductOf(const std::vector<int64_t>& shape) {
  std::optional<uint64_t> product = 1;
  for (const int64_t size : shape) {
    if (product) product = CheckedMul(*product, static_cast<uint64_t>(size));
  }
  return product;
}

// Bytes of a weight [k, out] of a tensor type, rows of whole blocks.
Result<uint64_t> WeightBytes(const OpFile& file, const std::string& site) {
  const TensorTypeInfo* type = FindTensorType(file.dtype);
  if (type == nullptr) {
    std::vector<std::string> known;
    for (uint32_t id = 0; id < 64; ++id) {
      if (const TensorTypeInfo* info = FindTensorType(id)) known.push_back(info->name);
    }
    return OpMistake(site + ".dtype",
                     "unknown type '" + file.dtype + "'" + DidYouMean(file.dtype, known));
  }
  if (file.shape[0] % type->block_values != 0) {
    return OpMistake(site + ".shape[0]", file.dtype + " rows are multiples of " +
                                             std::to_string(type->block_values) +
                                             " values, found " + std::to_string(file.shape[0]));
  }
  return static_cast<uint64_t>(RowBytes(type->type, file.shape[0])) *
         static_cast<uint64_t>(file.shape[1]);
}

Result<uint64_t> BytesOf(const OpFile& file, const OpInputSpec& spec, const std::string& site) {
  if (file.shape.size() != spec.rank) {
    return OpMistake(site + ".shape", "must have " + std::to_string(spec.rank) +
                                          " dimensions, has " + std::to_string(file.shape.size()));
  }
  const std::string wanted = spec.dtype;
  if (wanted == "weight") return WeightBytes(file, site);
  if (file.dtype != wanted) {
    return OpMistake(site + ".dtype", "must be '" + wanted + "', is '" + file.dtype + "'");
  }
  const auto values = ProductOf(file.shape);
  const auto bytes = values ? CheckedMul(*values, wanted == "f16" ? 2 : 4) : std::nullopt;
  if (!bytes) return OpMistake(site + ".shape", ShapeText(file.shape) + " is too large");
  return *bytes;
}

Result<OpTensor> ReadInput(const OpFile& file, const OpInputSpec& spec) {
  const std::string site = std::string("inputs.") + spec.name;
  FG_ASSIGN_OR_RETURN(const uint64_t bytes, BytesOf(file, spec, site));
  OpTensor tensor = {file.dtype, file.shape, ""};
  FG_ASSIGN_OR_RETURN(tensor.bytes, ReadFile(file.file));
  if (tensor.bytes.size() != bytes) {
    return OpMistake(site + ".file", file.file + " has " + std::to_string(tensor.bytes.size()) +
                                         " bytes, " + file.dtype + " " + ShapeText(file.shape) +
                                         " takes " + std::to_string(bytes));
  }
  return tensor;
}

Status CheckNames(const OpRequest& request, const OpSpec& spec) {
  std::vector<std::string> inputs, params(spec.params.begin(), spec.params.end());
  for (const OpInputSpec& input : spec.inputs) inputs.push_back(input.name);
  const auto unknown = [&](const std::string& what, const auto& given,
                           const std::vector<std::string>& known) {
    for (const auto& [name, value] : given) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      return OpMistake(
          what, std::string(spec.name) + " takes no '" + name + "'" + DidYouMean(name, known));
    }
    return Status::Ok();
  };
  FG_RETURN_IF_ERROR(unknown("inputs", request.inputs, inputs));
  FG_RETURN_IF_ERROR(unknown("params", request.params, params));
  for (const OpInputSpec& input : spec.inputs) {
    if (input.required && !request.inputs.contains(input.name)) {
      return OpMistake(std::string("inputs.") + input.name, "is missing");
    }
  }
  for (const std::string& name : params) {
    if (!request.params.contains(name)) return OpMistake("params." + name, "is missing");
  }
  return Status::Ok();
}

}  // namespace

Status OpMistake(const std::string& site, const std::string& message) {
  return Status(ErrorKind::kUsage, "op." + site + ": " + message);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

Result<OpInputs> ReadOpInputs(const OpRequest& request, const OpSpec& spec) {
  FG_RETURN_IF_ERROR(CheckNames(request, spec));
  OpInputs inputs;
  for (const OpInputSpec& input : spec.inputs) {
    const auto file = request.inputs.find(input.name);
    if (file == request.inputs.end()) continue;
    FG_ASSIGN_OR_RETURN(inputs[input.name], ReadInput(file->second, input));
  }
  return inputs;
}

}  // namespace fg
