// Where cuBLASLt may lie, and the first library there that serves. docs/gpu.md "cuBLASLt".
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace fg {

// The library's major version that the headers of this build describe.
constexpr int kCublasLtMajor = 13;
constexpr char kCublasLtName[] = "libcublasLt.so.13";

// Paths to try, in order. With `path` (FG_CUBLASLT_PATH: a file, or a folder that holds one) that
// one alone: another library may give other bits, so it never stands in unasked. Else beside the
// program, the loader's own path (kCublasLtName without a folder), the toolkit's folders, then a
// PyTorch installation's. A pattern that nothing matches stays in the list with its '*', so that an
// error can name it. `root` stands before every absolute place ("" but for tests).
std::vector<std::string> CublasLtPlaces(const std::string& path, const std::string& program_folder,
                                        const std::string& root);

struct OpenedCublasLt {
  void* handle = nullptr;  // of dlopen; never closed: CUDA libraries do not survive that
  std::string path;
  std::string version;  // "13.1.0"
};

// Opens the first of `places` that is a cuBLASLt of kCublasLtMajor. kDevice lists each place with
// the reason, and says what to set.
Result<OpenedCublasLt> OpenCublasLt(const std::vector<std::string>& places);

// The folder of the running program.
std::string ProgramFolder();

}  // namespace fg
