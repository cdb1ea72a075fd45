#include "base/status.h"

namespace fg {

const char* ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kOk:
      return "ok";
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kBadRequest:
      return "bad_request";
    case ErrorKind::kBadModel:
      return "bad_model";
    case ErrorKind::kRefused:
      return "refused";
    case ErrorKind::kOutOfMemory:
      return "out_of_memory";
    case ErrorKind::kDevice:
      return "device";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace fg
