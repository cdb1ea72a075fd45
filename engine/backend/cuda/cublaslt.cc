#include "engine/backend/cuda/cublaslt.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "engine/backend/cuda/cublaslt_library.h"
#include "engine/backend/cuda/device_buffer.h"

namespace fg {
namespace {

constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;
// The heuristic's best that does not split K is among its first.
constexpr int kMostAlgorithms = 32;

std::string NameOf(const GemmShape& shape) {
  return std::string(shape.type == GemmType::kF16 ? "f16" : "f32") + " GEMM of " +
         std::to_string(shape.rows) + " rows, k " + std::to_string(shape.k) + ", out " +
         std::to_string(shape.out);
}

// What is kept of a shape. The destructor needs the functions, so it is told them.
struct PreparedGemm {
  cublasLtMatmulDesc_t desc = nullptr;
  // Column-major, as cuBLASLt sees the arrays: w [k x out], x [k x rows], y [out x rows].
  cublasLtMatrixLayout_t w = nullptr, x = nullptr, y = nullptr;
  cublasLtMatmulAlgo_t algorithm;
  std::string name;

  void Destroy(const CublasLtFunctions& f) {
    if (desc != nullptr) (void)f.desc_destroy(desc);
    for (const cublasLtMatrixLayout_t layout : {w, x, y}) {
      if (layout != nullptr) (void)f.layout_destroy(layout);
    }
  }
};

template <typename T>
T ConfigOf(const CublasLtFunctions& f, const cublasLtMatmulAlgo_t& algorithm,
           cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value = {};
  size_t written = 0;
  if (f.algo_get(&algorithm, attribute, &value, sizeof(value), &written) != CUBLAS_STATUS_SUCCESS) {
    return {};  // an attribute that this algorithm does not have
  }
  return value;
}

// A sum of K in parts would add them in another order, or as threads arrive. 0 and 1 are one part,
// every other number is a cut or leave to choose one.
bool SplitsK(const CublasLtFunctions& f, const cublasLtMatmulAlgo_t& algorithm) {
  const auto parts = ConfigOf<int32_t>(f, algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  const auto scheme = ConfigOf<uint32_t>(f, algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  return (parts != 0 && parts != 1) || scheme != CUBLASLT_REDUCTION_SCHEME_NONE;
}

std::string AlgorithmText(const CublasLtFunctions& f, const cublasLtMatmulAlgo_t& algorithm) {
  const auto number = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    return ConfigOf<uint32_t>(f, algorithm, attribute);
  };
  std::string text = "cublaslt." +
                     std::to_string(ConfigOf<int32_t>(f, algorithm, CUBLASLT_ALGO_CONFIG_ID)) +
                     ".tile" + std::to_string(number(CUBLASLT_ALGO_CONFIG_TILE_ID)) + ".stages" +
                     std::to_string(number(CUBLASLT_ALGO_CONFIG_STAGES_ID));
  const auto cluster = ConfigOf<uint16_t>(f, algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  if (cluster != 0) text += ".cluster" + std::to_string(cluster);
  const uint32_t custom = number(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  if (custom != 0) text += ".custom" + std::to_string(custom);
  return text;
}

Status Describe(const CublasLtFunctions& f, const GemmShape& shape, PreparedGemm* gemm) {
  const cudaDataType_t type = shape.type == GemmType::kF16 ? CUDA_R_16F : CUDA_R_32F;
  FG_RETURN_IF_ERROR(CheckCublas(f.desc_create(&gemm->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                                 "cublasLtMatmulDescCreate"));
  const cublasOperation_t transposed = CUBLAS_OP_T;
  FG_RETURN_IF_ERROR(CheckCublas(
      f.desc_set(gemm->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)),
      "CUBLASLT_MATMUL_DESC_TRANSA"));
  const auto layout = [&](cublasLtMatrixLayout_t* made, cudaDataType_t of, int64_t height,
                          int64_t width) {
    return CheckCublas(f.layout_create(made, of, static_cast<uint64_t>(height),
                                       static_cast<uint64_t>(width), height),
                       "cublasLtMatrixLayoutCreate");
  };
  FG_RETURN_IF_ERROR(layout(&gemm->w, type, shape.k, shape.out));
  FG_RETURN_IF_ERROR(layout(&gemm->x, type, shape.k, shape.rows));
  return layout(&gemm->y, CUDA_R_32F, shape.out, shape.rows);
}

// Asks for algorithms without split K and pointers aligned to kGemmAlignment.
Status SetPreference(const CublasLtFunctions& f, cublasLtMatmulPreference_t preference) {
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    return CheckCublas(f.preference_set(preference, attribute, &value, sizeof(value)),
                       "cublasLtMatmulPreferenceSetAttribute");
  };
  FG_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes));
  FG_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE}));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    FG_RETURN_IF_ERROR(set(attribute, uint32_t{kGemmAlignment}));
  }
  return Status::Ok();
}

}  // namespace

struct CublasLt::Impl {
  OpenedCublasLt opened;
  CublasLtFunctions f;
  Status absent;  // why there is no library
  cublasLtHandle_t handle = nullptr;
  DeviceBuffer workspace;
  std::map<GemmShape, PreparedGemm> prepared;

  ~Impl() {
    for (auto& [shape, gemm] : prepared) gemm.Destroy(f);
    if (handle != nullptr) (void)f.destroy(handle);
  }

  Status Start();
  Status ChooseAlgorithm(const GemmShape& shape, PreparedGemm* gemm);
};

Status CublasLt::Impl::Start() {
  FG_RETURN_IF_ERROR(absent);
  if (handle == nullptr) FG_RETURN_IF_ERROR(CheckCublas(f.create(&handle), "cublasLtCreate"));
  if (workspace.data() != nullptr) return Status::Ok();
  FG_ASSIGN_OR_RETURN(workspace, DeviceBuffer::Allocate(kWorkspaceBytes, MemoryCategory::kScratch,
                                                        nullptr, "the workspace of cuBLASLt",
                                                        "set a smaller --context or --batch"));
  return Status::Ok();
}

Status CublasLt::Impl::ChooseAlgorithm(const GemmShape& shape, PreparedGemm* gemm) {
  cublasLtMatmulPreference_t preference = nullptr;
  FG_RETURN_IF_ERROR(
      CheckCublas(f.preference_create(&preference), "cublasLtMatmulPreferenceCreate"));
  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> found = {};
  int count = 0;
  cublasStatus_t answer = CUBLAS_STATUS_SUCCESS;
  const Status set = SetPreference(f, preference);
  if (set.ok()) {
    answer = f.heuristic(handle, gemm->desc, gemm->w, gemm->x, gemm->y, gemm->y, preference,
                         kMostAlgorithms, found.data(), &count);
  }
  (void)f.preference_destroy(preference);
  FG_RETURN_IF_ERROR(set);
  for (int i = 0; answer == CUBLAS_STATUS_SUCCESS && i < count; ++i) {
    if (found[i].state != CUBLAS_STATUS_SUCCESS || found[i].workspaceSize > kWorkspaceBytes ||
        SplitsK(f, found[i].algo)) {
      continue;
    }
    gemm->algorithm = found[i].algo;
    gemm->name = AlgorithmText(f, found[i].algo);
    return Status::Ok();
  }
  const std::string why = answer != CUBLAS_STATUS_SUCCESS && answer != CUBLAS_STATUS_NOT_SUPPORTED
                              ? CheckCublas(answer, "the heuristic").message()
                              : "none without split K among " + std::to_string(count);
  return Status(ErrorKind::kDevice, "cuBLASLt " + opened.version + " has no algorithm for a " +
                                        NameOf(shape) + " (" + why +
                                        "); set FG_PREFILL_GEMM=0 to run the one-row kernels, or "
                                        "FG_CUBLASLT_PATH to another version");
}

CublasLt::CublasLt(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CublasLt::~CublasLt() = default;

Result<std::unique_ptr<CublasLt>> CublasLt::Open(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  FG_ASSIGN_OR_RETURN(impl->opened, OpenCublasLt(CublasLtPlaces(path, ProgramFolder(), "")));
  FG_ASSIGN_OR_RETURN(impl->f, FindFunctions(impl->opened));
  return std::unique_ptr<CublasLt>(new CublasLt(std::move(impl)));
}

std::unique_ptr<CublasLt> CublasLt::Absent(Status why) {
  auto impl = std::make_unique<Impl>();
  impl->absent = std::move(why);
  return std::unique_ptr<CublasLt>(new CublasLt(std::move(impl)));
}

const std::string& CublasLt::version() const { return impl_->opened.version; }

uint64_t CublasLt::workspace_bytes() const { return impl_->workspace.bytes(); }

Status CublasLt::Prepare(const GemmShape& shape) {
  if (impl_->prepared.contains(shape)) return Status::Ok();
  FG_RETURN_IF_ERROR(impl_->Start());
  PreparedGemm gemm;
  Status status = Describe(impl_->f, shape, &gemm);
  if (status.ok()) status = impl_->ChooseAlgorithm(shape, &gemm);
  if (!status.ok()) {
    gemm.Destroy(impl_->f);
    return status;
  }
  impl_->prepared.emplace(shape, std::move(gemm));
  return Status::Ok();
}

cudaError_t CublasLt::Run(const GemmShape& shape, const void* x, const void* w, float* y,
                          cudaStream_t stream) {
  const auto found = impl_->prepared.find(shape);
  if (found == impl_->prepared.end()) return cudaErrorInvalidValue;
  for (const void* pointer : {x, w, static_cast<const void*>(y)}) {
    if (reinterpret_cast<uintptr_t>(pointer) % kGemmAlignment != 0) {
      return cudaErrorInvalidValue;
    }
  }
  const PreparedGemm& gemm = found->second;
  const float one = 1.0f, zero = 0.0f;
  return AsCudaError(impl_->f.matmul(impl_->handle, gemm.desc, &one, w, gemm.w, x, gemm.x, &zero, y,
                                     gemm.y, y, gemm.y, &gemm.algorithm, impl_->workspace.data(),
                                     impl_->workspace.bytes(), stream));
}

const std::string& CublasLt::AlgorithmName(const GemmShape& shape) const {
  return impl_->prepared.at(shape).name;
}

}  // namespace fg
