#pragma once

#include <string>

namespace fg {

// The driver's version as NVML (libnvidia-ml.so.1, opened at run time) says it, "580.159.04"; empty
// where NVML is absent or does not answer.
std::string NvmlDriverVersion();

}  // namespace fg
