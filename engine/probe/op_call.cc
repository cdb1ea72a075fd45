#include "engine/probe/op_call.h"

#include <new>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/file.h"
#include "base/sha256.h"
#include "engine/probe/answers.h"

namespace fg {

OpOutput MakeOutput(const char* name, const char* dtype, size_t value_bytes,
                    std::vector<int64_t> shape, char fill) {
  std::optional<uint64_t> bytes = value_bytes;
  for (const int64_t size : shape) {
    if (bytes) bytes = CheckedMul(*bytes, static_cast<uint64_t>(size));
  }
  if (!bytes || *bytes > std::string().max_size()) throw std::bad_alloc();
  return {name, {dtype, std::move(shape), std::string(*bytes, fill)}};
}

Status SameShape(const std::string& site, const OpTensor& tensor,
                 const std::vector<int64_t>& wanted) {
  if (tensor.shape == wanted) return Status::Ok();
  return OpMistake("inputs." + site + ".shape",
                   "must be " + ShapeText(wanted) + ", is " + ShapeText(tensor.shape));
}

Result<Json> WriteOutputs(const OpOutputs& outputs, const std::string& folder) {
  FG_RETURN_IF_ERROR(MakeFolders(folder));
  Json answer = Json::object();
  for (const OpOutput& output : outputs) {
    const std::string path = folder + "/" + output.name + ".bin";
    FG_RETURN_IF_ERROR(WriteFileAtomic(path, output.tensor.bytes));
    answer[output.name] = {{"file", path},
                           {"dtype", output.tensor.dtype},
                           {"shape", output.tensor.shape},
                           {"digest", Sha256Hex(output.tensor.bytes)}};
  }
  return answer;
}

Json NewLabels(const std::map<Ledger::DispatchKey, uint64_t>& before,
               std::map<Ledger::DispatchKey, uint64_t> after) {
  for (const auto& [key, count] : before) {
    const auto found = after.find(key);
    if (found != after.end()) found->second -= count;
  }
  std::erase_if(after, [](const auto& entry) { return entry.second == 0; });
  return DispatchJson(after);
}

}  // namespace fg
