#include "engine/gguf/quantize.h"

#include <filesystem>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/file.h"
#include "base/nearest.h"
#include "engine/gguf/file_sink.h"
#include "engine/gguf/gguf.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/gguf/mix.h"
#include "engine/gguf/printable.h"
#include "kernels/formats/dequantize.h"
#include "kernels/formats/encode.h"
#include "kernels/formats/half.h"

namespace fg {
namespace {

constexpr uint32_t kQuantizationVersion = 2;  // of the block layouts
constexpr int64_t kValuesAtOnce = 1 << 20;    // converted between two writes, or one row

Result<const Mix*> FindMix(std::string_view name) {
  for (const Mix& mix : AllMixes()) {
    if (name == mix.name) return &mix;
  }
  std::string known;
  for (const std::string& mix : QuantizeMixes()) known += (known.empty() ? "" : ", ") + mix;
  return Status(ErrorKind::kUsage, "unknown mix " + Printable(name) + "; known: " + known +
                                       DidYouMean(name, QuantizeMixes()));
}

std::string_view DataOf(const GgufTensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.data), static_cast<size_t>(tensor.bytes)};
}

// f16 scales and values end at 65504; what rounds beyond it would become infinite.
bool Holds(TensorType type, float value) {
  if (!std::isfinite(value)) return false;
  return type == TensorType::kF32 || std::isfinite(F16ToF32(F32ToF16(value)));
}

Status Unfit(const GgufTensor& tensor, int64_t row, TensorType type, const float* values) {
  int64_t i = 0;
  while (Holds(type, values[i])) ++i;
  const std::string place = "tensor " + Printable(tensor.name) + ", row " + std::to_string(row) +
                            ", value " + std::to_string(i) + " is " + std::to_string(values[i]);
  const char* reason = std::isfinite(values[i]) ? "beyond f16, whose range ends at 65504"
                                                : "and weights must be finite";
  return Status(ErrorKind::kBadModel, place + ", " + reason);
}

// Converts a tensor row by row; rows are independent, so threads change nothing.
class RowConverter {
 public:
  RowConverter(const GgufTensor& tensor, TensorType type)
      : tensor_(tensor),
        type_(type),
        width_(static_cast<int64_t>(tensor.shape[0])),
        rows_(static_cast<int64_t>(tensor.values()) / width_),
        at_once_(std::clamp<int64_t>(kValuesAtOnce / width_, 1, rows_)),
        values_(static_cast<size_t>(at_once_ * width_)),
        ends_(static_cast<size_t>(at_once_)),
        blocks_(static_cast<size_t>(at_once_ * RowBytes(type, width_)), '\0') {}

  Status WriteTo(FileSink* sink) {
    for (int64_t first = 0; first < rows_; first += at_once_) {
      const int64_t count = std::min(at_once_, rows_ - first);
      FG_RETURN_IF_ERROR(Convert(first, count));
      const size_t bytes = static_cast<size_t>(count * RowBytes(type_, width_));
      FG_RETURN_IF_ERROR(sink->Write(std::string_view(blocks_).substr(0, bytes)));
    }
    return Status::Ok();
  }

 private:
  enum class RowEnd : uint8_t { kDone, kUnfit, kUnknown };

  float* ValuesOf(int64_t i) { return values_.data() + i * width_; }

  Status Convert(int64_t first, int64_t count) {
    const int64_t in_bytes = RowBytes(tensor_.type, width_);
    const int64_t out_bytes = RowBytes(type_, width_);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i) {
      ends_[i] = ConvertRow(tensor_.data + (first + i) * in_bytes, ValuesOf(i),
                            blocks_.data() + i * out_bytes);
    }
    for (int64_t i = 0; i < count; ++i) {
      if (ends_[i] == RowEnd::kUnfit) return Unfit(tensor_, first + i, type_, ValuesOf(i));
      if (ends_[i] == RowEnd::kUnknown) {
        return Status(ErrorKind::kInternal, std::string("no conversion from ") +
                                                InfoOf(tensor_.type).name + " to " +
                                                InfoOf(type_).name);
      }
    }
    return Status::Ok();
  }

  RowEnd ConvertRow(const std::byte* in, float* values, char* out) const {
    if (!DequantizeRow(tensor_.type, in, width_, values)) return RowEnd::kUnknown;
    const bool fits =
        std::all_of(values, values + width_, [this](float x) { return Holds(type_, x); });
    if (!fits) return RowEnd::kUnfit;
    return EncodeRow(type_, values, width_, out) ? RowEnd::kDone : RowEnd::kUnknown;
  }

  const GgufTensor& tensor_;
  const TensorType type_;
  const int64_t width_;        // values in a row
  const int64_t rows_;         // of the tensor
  const int64_t at_once_;      // rows converted between two writes
  std::vector<float> values_;  // [at_once][width]
  std::vector<RowEnd> ends_;   // [at_once]
  std::string blocks_;         // [at_once] rows of type_
};

// Header and table of the output; the summary says what was chosen.
Result<GgufWriter> Plan(const Mix& mix, const GgufFile& file, QuantizeSummary* summary) {
  FG_ASSIGN_OR_RETURN(const MixModel model, ReadMixModel(mix, file));
  GgufWriter writer;
  for (const auto& [name, value] : file.keys()) writer.SetKey(name, value);
  writer.SetKey("general.file_type", GgufU32(mix.file_type));
  writer.SetKey("general.quantization_version", GgufU32(kQuantizationVersion));
  std::map<TensorType, int> counts;
  for (const GgufTensor& tensor : file.tensors()) {
    const MixChoice choice = ChooseType(mix, model, tensor);
    if (choice.type != tensor.type && !InfoOf(tensor.type).computable) {
      return Status(ErrorKind::kBadModel, "tensor " + Printable(tensor.name) + " is " +
                                              InfoOf(tensor.type).name +
                                              ", which this build cannot read");
    }
    if (!choice.fallback.empty())
      summary->fallbacks.push_back(tensor.name + ": " + choice.fallback);
    writer.AddTensor(tensor.name, choice.type, tensor.shape);
    ++counts[choice.type];
  }
  for (const auto& [type, count] : counts) {
    summary->tensors_per_type.emplace_back(InfoOf(type).name, count);
  }
  return writer;
}

}  // namespace

std::vector<std::string> QuantizeMixes() {
  std::vector<std::string> names;
  for (const Mix& mix : AllMixes()) names.emplace_back(mix.name);
  return names;
}

Result<QuantizeSummary> QuantizeFile(const std::string& input, const std::string& output,
                                     std::string_view mix_name) {
  FG_ASSIGN_OR_RETURN(const Mix* mix, FindMix(mix_name));
  FG_ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(input));
  std::error_code ignored;
  if (std::filesystem::equivalent(input, output, ignored)) {
    return Status(ErrorKind::kUsage, output + ": is the input itself; name another file");
  }
  const Result<GgufFile> file = GgufFile::Parse(mapped.bytes());
  if (!file.ok()) return file.status().WithContext(input);
  QuantizeSummary summary;
  summary.input_bytes = mapped.bytes().size();
  const Result<GgufWriter> writer = Plan(*mix, *file, &summary);
  if (!writer.ok()) return writer.status().WithContext(input);
  FileSink sink(output);
  FG_RETURN_IF_ERROR(writer->WriteTo(&sink, [&](size_t i, FileSink* out) {
    const GgufTensor& tensor = file->tensors()[i];
    const TensorType type = writer->tensors()[i].type;
    if (type == tensor.type) return out->Write(DataOf(tensor));
    const Status status = RowConverter(tensor, type).WriteTo(out);
    return status.kind() == ErrorKind::kBadModel ? status.WithContext(input) : status;
  }));
  FG_RETURN_IF_ERROR(sink.Commit());
  summary.output_bytes = sink.written();
  return summary;
}

}  // namespace fg
