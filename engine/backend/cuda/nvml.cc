#include "engine/backend/cuda/nvml.h"

#include <dlfcn.h>

namespace fg {

std::string NvmlDriverVersion() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "";
  // nvmlReturn_t is an int, 0 for success; the toolkit of a build may lack nvml.h.
  using Init = int (*)();
  using Version = int (*)(char*, unsigned int);
  const auto init = reinterpret_cast<Init>(::dlsym(library, "nvmlInit_v2"));
  const auto version = reinterpret_cast<Version>(::dlsym(library, "nvmlSystemGetDriverVersion"));
  const auto shutdown = reinterpret_cast<Init>(::dlsym(library, "nvmlShutdown"));
  char text[96] = "";
  if (init != nullptr && version != nullptr && shutdown != nullptr && init() == 0) {
    if (version(text, sizeof(text)) != 0) text[0] = '\0';
    (void)shutdown();
  }
  (void)::dlclose(library);
  return text;
}

}  // namespace fg
