#include "engine/gguf/synth.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "base/nearest.h"
#include "engine/gguf/file_sink.h"
#include "engine/gguf/gguf_writer.h"
#include "engine/gguf/mix.h"
#include "engine/gguf/printable.h"
#include "engine/gguf/quantize.h"
#include "engine/gguf/synth_blocks.h"
#include "engine/gguf/synth_shape.h"

namespace fg {
namespace {

constexpr int64_t kPieceValues = 1 << 16;  // drawn from one stream: a multiple of every block
constexpr int64_t kPiecesAtOnce = 256;     // held between two writes: 16 Mi values
constexpr int64_t kPiecesForThreads = 4;   // fewer are made before other threads would wake
constexpr int64_t kMostLayers = 1024;

Status Unknown(const char* what, const std::string& name, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return Status(ErrorKind::kUsage, std::string("unknown ") + what + " " + Printable(name) +
                                       "; known: " + list + DidYouMean(name, known));
}

Result<SynthShape> ResolveShape(const SynthOptions& options) {
  const auto shapes = AllSynthShapes();
  const auto found = std::find_if(shapes.begin(), shapes.end(),
                                  [&](const SynthShape& s) { return options.shape == s.name; });
  if (found == shapes.end()) return Unknown("shape", options.shape, SynthShapes());
  SynthShape shape = *found;
  if (options.layers < 0 || options.layers > kMostLayers) {
    return Status(ErrorKind::kUsage, "layers is " + std::to_string(options.layers) + "; 1 to " +
                                         std::to_string(kMostLayers) + ", or 0 for the shape's " +
                                         std::to_string(shape.layers));
  }
  if (options.layers > 0) shape.layers = options.layers;
  return shape;
}

Result<const Mix*> ResolveMix(const std::string& name) {
  for (const Mix& mix : AllMixes()) {
    if (name == mix.name) return &mix;
  }
  return Unknown("mix", name, QuantizeMixes());
}

// One tensor's data, piece by piece; pieces draw from streams of their own, so threads change
// nothing.
class TensorMaker {
 public:
  TensorMaker(const SynthTensor& tensor, TensorType type, uint64_t seed, uint64_t number)
      : tensor_(tensor), type_(type), seed_(seed), number_(number) {}

  Status WriteTo(int64_t values, FileSink* sink, std::string* buffer) const {
    const int64_t piece_bytes = RowBytes(type_, kPieceValues);
    const int64_t pieces = (values + kPieceValues - 1) / kPieceValues;
    for (int64_t first = 0; first < pieces; first += kPiecesAtOnce) {
      const int64_t count = std::min(kPiecesAtOnce, pieces - first);
      const int64_t rest = values - first * kPieceValues;
      const int64_t bytes = RowBytes(type_, std::min(rest, count * kPieceValues));
      buffer->resize(static_cast<size_t>(std::max<int64_t>(buffer->size(), bytes)));
      bool made = true;
#pragma omp parallel for schedule(static) reduction(&& : made) if (count >= kPiecesForThreads)
      for (int64_t i = 0; i < count; ++i) {
        const int64_t n = std::min(kPieceValues, rest - i * kPieceValues);
        made = made && MakePiece(first + i, n, buffer->data() + i * piece_bytes);
      }
      if (!made) {
        return Status(ErrorKind::kInternal, std::string("no random ") + InfoOf(type_).name);
      }
      FG_RETURN_IF_ERROR(
          sink->Write(std::string_view(*buffer).substr(0, static_cast<size_t>(bytes))));
    }
    return Status::Ok();
  }

 private:
  bool MakePiece(int64_t piece, int64_t values, void* out) const {
    const SynthRandom random(SynthStream(seed_, number_, static_cast<uint64_t>(piece)));
    if (tensor_.shape.size() > 1) {
      const int64_t blocks = values / InfoOf(type_).block_values;
      return SynthBlocks(type_, tensor_.spread, random, blocks, out);
    }
    SynthValues(tensor_.centre, tensor_.spread, random, values, static_cast<float*>(out));
    return true;
  }

  const SynthTensor& tensor_;
  const TensorType type_;
  const uint64_t seed_, number_;
};

// Keys and the tensor table; the summary says what was chosen.
GgufWriter Plan(const SynthShape& shape, const Mix& mix, std::span<const SynthTensor> tensors,
                SynthSummary* summary) {
  GgufWriter writer;
  SetSynthKeys(shape, mix.file_type, &writer);
  const MixModel model = {shape.layers, shape.tied_output};
  std::map<TensorType, int> counts;
  for (const SynthTensor& tensor : tensors) {
    const MixChoice choice = ChooseType(mix, model, GgufTensor{tensor.name, {}, tensor.shape});
    if (!choice.fallback.empty()) {
      summary->fallbacks.push_back(tensor.name + ": " + choice.fallback);
    }
    writer.AddTensor(tensor.name, choice.type, tensor.shape);
    ++counts[choice.type];
    summary->parameters += static_cast<int64_t>(writer.tensors().back().values());
  }
  for (const auto& [type, count] : counts) {
    summary->tensors_per_type.emplace_back(InfoOf(type).name, count);
  }
  summary->layers = shape.layers;
  return writer;
}

}  // namespace

std::vector<std::string> SynthShapes() {
  std::vector<std::string> names;
  for (const SynthShape& shape : AllSynthShapes()) names.emplace_back(shape.name);
  return names;
}

Status CheckRoomFor(const std::string& output, uint64_t bytes) {
  const std::filesystem::path parent = std::filesystem::path(output).parent_path();
  struct statvfs info;
  // A folder that is not there is said by whoever opens the file.
  if (::statvfs(parent.empty() ? "." : parent.c_str(), &info) != 0) return Status::Ok();
  const uint64_t room = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  if (room >= bytes) return Status::Ok();
  return Status(ErrorKind::kIo, output + ": takes " + std::to_string(bytes >> 20) +
                                    " MiB, and the file system has " + std::to_string(room >> 20) +
                                    " MiB left; take fewer --layers or another place");
}

Result<SynthSummary> SynthFile(const std::string& output, const SynthOptions& options,
                               const std::function<void(uint64_t, uint64_t)>& progress) {
  FG_ASSIGN_OR_RETURN(const SynthShape shape, ResolveShape(options));
  FG_ASSIGN_OR_RETURN(const Mix* mix, ResolveMix(options.mix));
  const std::vector<SynthTensor> tensors = SynthTensors(shape);
  SynthSummary summary;
  const GgufWriter writer = Plan(shape, *mix, tensors, &summary);
  const size_t last = tensors.size() - 1;
  const GgufTensor& end = writer.tensors()[last];
  const uint64_t total = writer.Head().size() + end.offset + end.bytes + writer.PaddingAfter(last);
  FG_RETURN_IF_ERROR(CheckRoomFor(output, total));
  FileSink sink(output);
  std::string buffer;
  FG_RETURN_IF_ERROR(writer.WriteTo(&sink, [&](size_t i, FileSink* out) {
    if (progress) progress(out->written(), total);
    const GgufTensor& planned = writer.tensors()[i];
    return TensorMaker(tensors[i], planned.type, options.seed, i)
        .WriteTo(static_cast<int64_t>(planned.values()), out, &buffer);
  }));
  FG_RETURN_IF_ERROR(sink.Commit());
  if (progress) progress(total, total);
  summary.output_bytes = sink.written();
  return summary;
}

}  // namespace fg
