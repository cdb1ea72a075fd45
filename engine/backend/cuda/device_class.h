// What is said of a GPU before anything runs on it: its class, what FG_DEVICE_CLASS may make of it,
// whether this build's kernels run on it, and what is missing where there is none. docs/gpu.md.
#pragma once

#include <string>

#include "base/status.h"

namespace fg {

struct ComputeCapability {
  int major = 0, minor = 0;
  int number() const { return major * 10 + minor; }
  auto operator<=>(const ComputeCapability&) const = default;
};

// "sm_90" where promotion/defaults.yaml lists it, else "other".
std::string ClassOfCapability(ComputeCapability capability);

// The class to report: the device's own where `asked` is empty, else `asked`: a listed class of a
// GPU that lies at or below the device's capability, or `other`. kUsage for anything else, with the
// nearest name.
Result<std::string> ReportedClass(ComputeCapability capability, const std::string& asked);

// How kernels built for `architectures` (CMake's list, blanks between: "90a-real 80-virtual") run
// on a device: machine code of its own, PTX that the driver compiles, or not at all. Architectures
// with a letter serve that one capability alone; machine code serves later minor ones too, PTX all
// later ones.
enum class KernelCode { kNative, kPtx, kNone };
KernelCode KernelCodeFor(const std::string& architectures, ComputeCapability capability);

// "90a" of "90a-real", "90a, PTX of 80" of "90a-real 80-virtual".
std::string ArchitecturesText(const std::string& architectures);

// "13.0" of 13000.
std::string CudaVersionText(int version);

enum class NoDevice { kNoDriver, kDriverTooOld, kNone, kOther };
// What is in the way and what to do. `driver` and `runtime` are CUDA versions as 13000; `detail` is
// the driver's own word, of kOther.
std::string NoDeviceText(NoDevice reason, int driver, int runtime, const std::string& detail);

}  // namespace fg
