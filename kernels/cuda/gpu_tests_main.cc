// The tests that need a GPU, in one program: without one it fails and says so, it never passes.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "fg-gpu-tests: no GPU to test on: %s\n",
                 error != cudaSuccess ? cudaGetErrorString(error) : "the driver reports none");
    return 4;
  }
  return RUN_ALL_TESTS();
}
