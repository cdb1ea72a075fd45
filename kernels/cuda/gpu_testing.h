// What tests and benchmarks of CUDA kernels share: device memory with guard words, exact copies.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace fg::cuda {

inline void ExpectOk(cudaError_t error, const char* what) {
  ASSERT_EQ(error, cudaSuccess) << what << ": " << cudaGetErrorString(error);
}

// An array on the device between two guards of 256 bytes. 256-byte aligned. Destroying it checks
// the guards.
template <typename T>
class DeviceArray {
 public:
  // Every byte 0xA5, so that what nobody wrote shows.
  explicit DeviceArray(size_t count) : count_(count) {
    Take();
    std::vector<unsigned char> fill(Bytes(), 0xA5);
    if (!fill.empty())
      ExpectOk(cudaMemcpy(data(), fill.data(), Bytes(), cudaMemcpyHostToDevice), "fill");
  }
  explicit DeviceArray(const std::vector<T>& host) : count_(host.size()) {
    Take();
    if (count_ > 0)
      ExpectOk(cudaMemcpy(data(), host.data(), Bytes(), cudaMemcpyHostToDevice), "copy in");
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() {
    CheckGuard(base_, "before");
    CheckGuard(base_ + kGuard + Padded(), "behind");
    cudaFree(base_);
  }

  T* data() { return reinterpret_cast<T*>(base_ + kGuard); }
  const T* data() const { return reinterpret_cast<const T*>(base_ + kGuard); }
  size_t size() const { return count_; }
  std::vector<T> Host() const {
    std::vector<T> host(count_);
    ExpectOk(cudaDeviceSynchronize(), "kernel");
    if (count_ > 0)
      ExpectOk(cudaMemcpy(host.data(), data(), Bytes(), cudaMemcpyDeviceToHost), "copy out");
    return host;
  }

 private:
  static constexpr size_t kGuard = 256;
  size_t Bytes() const { return count_ * sizeof(T); }
  size_t Padded() const { return Bytes(); }  // the guard follows at the next byte
  void Take() {
    ExpectOk(cudaMalloc(reinterpret_cast<void**>(&base_), Bytes() + 2 * kGuard), "cudaMalloc");
    ExpectOk(cudaMemset(base_, 0x5C, Bytes() + 2 * kGuard), "guards");
  }
  void CheckGuard(const unsigned char* at, const char* where) const {
    std::vector<unsigned char> guard(kGuard);
    ExpectOk(cudaMemcpy(guard.data(), at, kGuard, cudaMemcpyDeviceToHost), "guard");
    for (const unsigned char byte : guard) {
      if (byte != 0x5C) {
        ADD_FAILURE() << "a guard " << where << " an array of " << count_ << " was written";
        return;
      }
    }
  }
  size_t count_;
  unsigned char* base_ = nullptr;
};

}  // namespace fg::cuda
