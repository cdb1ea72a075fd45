// A model's weights on the device: taken over once in the resident layout
// (kernels/cuda/resident_layout.h), with the f16 cache of those that a forward of 16 rows or more
// multiplies.
#pragma once

#include <map>
#include <string>

#include "engine/backend/cuda/cuda_context.h"
#include "engine/backend/cuda/cuda_matmul_path.h"
#include "engine/backend/cuda/device_buffer.h"
#include "engine/model/weights.h"

namespace fg {

struct CudaWeight {
  WeightView view;  // of the file: type, k, out, name; its data is host memory
  WeightRole role = WeightRole::kVector;
  const void* resident = nullptr;  // [out][ResidentRowBytes(type, k)]; a vector's f32 values
  const uint16_t* f16 = nullptr;  // [out][k]: kW16 of quantized types and bf16, and the resident of
                                  // f16 itself; else null
};

class CudaWeights {
 public:
  // Uploads all; builds the f16 caches. kOutOfMemory names the tensor, its size, what is free and
  // what to set; kBadModel names a value beyond f16, or a type without kernels. Books weights (all
  // tensors' resident bytes) and f16_cache. A gate of the int8 family that is ON is booked as
  // degraded, reason `backend`: this backend does not have it yet.
  Status Load(CudaContext& context, const ModelWeights& weights);
  const CudaWeight* Find(const std::string& name) const;  // null when there is none
  const std::map<std::string, CudaWeight>& all() const { return weights_; }

 private:
  std::map<std::string, CudaWeight> weights_;
  std::vector<DeviceBuffer> buffers_;
};

}  // namespace fg
