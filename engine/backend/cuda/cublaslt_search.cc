#include "engine/backend/cuda/cublaslt_search.h"

#include <dlfcn.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace fg {
namespace {

// Folders of the toolkit, then those of Python environments, each with a newer one before an older.
constexpr const char* kToolkitFolders[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/cuda-13*/targets/x86_64-linux/lib",
    "/opt/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
};
constexpr const char* kPythonFolders[] = {
    "/opt/*/.venv/lib/python3*/site-packages", "/opt/*/venv/lib/python3*/site-packages",
    "/opt/*/lib/python3*/site-packages",       "/usr/local/lib/python3*/dist-packages",
    "/usr/local/lib/python3*/site-packages",   "/usr/lib/python3*/dist-packages",
};
constexpr const char* kInSitePackages[] = {"/nvidia/cu13/lib/", "/nvidia/cublas/lib/"};

bool Exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

// What matches `pattern`, a newer version (which sorts later) first; the pattern where nothing
// does.
void AddMatches(const std::string& pattern, std::vector<std::string>* places) {
  glob_t found = {};
  const size_t before = places->size();
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = found.gl_pathc; i > 0; --i) places->push_back(found.gl_pathv[i - 1]);
  }
  ::globfree(&found);
  if (places->size() == before) places->push_back(pattern);
}

std::string Reason() {
  const char* text = ::dlerror();
  return text == nullptr ? "the loader gives no reason" : text;
}

// Empty when `opened` holds a library that serves.
std::string TryPlace(const std::string& place, OpenedCublasLt* opened) {
  const bool by_loader = place.find('/') == std::string::npos;
  if (!by_loader && !Exists(place)) return place + " is not there";
  void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    // The loader's text begins with the path.
    const std::string reason = Reason();
    return reason.starts_with(place) ? reason : place + ": " + reason;
  }
  using VersionFunction = size_t (*)();
  const auto version = reinterpret_cast<VersionFunction>(::dlsym(handle, "cublasLtGetVersion"));
  if (version == nullptr) return place + " is no cuBLASLt";
  const size_t number = version();  // major * 10000 + minor * 100 + patch
  const std::string text = std::to_string(number / 10000) + "." +
                           std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
  if (number / 10000 != kCublasLtMajor) {
    return place + " is of version " + text + ", not " + std::to_string(kCublasLtMajor);
  }
  *opened = {handle, place, text};
  return "";
}

}  // namespace

std::vector<std::string> CublasLtPlaces(const std::string& path, const std::string& program_folder,
                                        const std::string& root) {
  std::error_code ignored;
  if (!path.empty()) {
    return {std::filesystem::is_directory(path, ignored) ? path + "/" + kCublasLtName : path};
  }
  std::vector<std::string> places;
  places.push_back(program_folder + "/" + kCublasLtName);
  places.push_back(kCublasLtName);
  for (const char* folder : kToolkitFolders) {
    AddMatches(root + folder + "/" + kCublasLtName, &places);
  }
  for (const char* folder : kPythonFolders) {
    for (const char* inside : kInSitePackages) {
      AddMatches(root + folder + inside + kCublasLtName, &places);
    }
  }
  return places;
}

Result<OpenedCublasLt> OpenCublasLt(const std::vector<std::string>& places) {
  std::string tried;
  OpenedCublasLt opened;
  for (const std::string& place : places) {
    const std::string reason = TryPlace(place, &opened);
    if (reason.empty()) return opened;
    tried += (tried.empty() ? "" : "; ") + reason;
  }
  return Status(ErrorKind::kDevice,
                std::string("no cuBLASLt was found, which forwards of 16 rows or more need; set "
                            "FG_CUBLASLT_PATH to ") +
                    kCublasLtName +
                    " or to its folder (a CUDA 13 toolkit and PyTorch for CUDA 13 have it). "
                    "Tried: " +
                    tried);
}

std::string ProgramFolder() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "." : program.parent_path().string();
}

}  // namespace fg
