// Model variants on disk: made once by head's `quantize` or `synth`, kept by content, checked
// against the sums that the matrix pins.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "gates/matrix.h"
#include "gates/project.h"

namespace flipgate {

// Whether the matrix pins no sum of it yet: it writes 64 zeros. No run takes the model; the message
// says which sum to write.
bool IsUnpinned(const ModelSpec& model);

// Where a variant of the matrix is kept, whether it is there or not: in `folder`, or, where that is
// "", in the project's cache.
std::string CachedModelPath(const Project& project, const ModelSpec& model,
                            const std::string& folder = "");

class ModelStore {
 public:
  // `engine` is head's program and arguments; it runs without a fault and without any FG_ variable.
  // `folder` as for CachedModelPath. A model is made, and its file summed, once.
  ModelStore(const Project& project, const Matrix& matrix, std::vector<std::string> engine,
             std::vector<std::string> environment, std::string folder = "");

  // Absolute path of the variant, made where it is missing. "NAME@f32" is NAME with its weights
  // dequantized to f32, not pinned by itself for it follows from NAME. kUsage: an unknown model, or
  // a sum that is not the pinned one (names both and says what to do); kIo: the source is missing,
  // quantize or synth failed.
  fg::Result<std::string> Path(const std::string& model);

 private:
  fg::Result<std::string> Make(const std::string& model);
  fg::Result<std::string> MakeDequantized(const std::string& source);
  fg::Status MakeVariant(const ModelSpec& spec, const std::string& path) const;
  // Runs head's engine with `words`; kIo with what it said where it fails.
  fg::Status RunEngine(const std::vector<std::string>& words, const std::string& what) const;

  const Project& project_;
  const Matrix& matrix_;
  const std::vector<std::string> engine_, environment_;
  const std::string folder_;
  std::mutex mutex_;
  std::map<std::string, std::string> ready_;
};

}  // namespace flipgate
