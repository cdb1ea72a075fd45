# Finds nvcc, and the functions for targets of CUDA. After this FG_HAVE_CUDA says whether the backend
# is built.
set(FG_HAVE_CUDA OFF)
if(NOT FG_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(FG_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin)
    if(FG_NVCC)
      set(CMAKE_CUDA_COMPILER ${FG_NVCC})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${FG_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    set(FG_HAVE_CUDA ON)
  elseif(FG_CUDA STREQUAL "ON")
    message(FATAL_ERROR "FG_CUDA=ON, but there is no nvcc: install the CUDA toolkit, or set "
                        "CMAKE_CUDA_COMPILER to it")
  endif()
endif()
message(STATUS "CUDA backend: ${FG_HAVE_CUDA}")

# The arithmetic of docs/arithmetic.md needs --fmad=false: an FMA is written where it is wanted.
# The constexpr index functions are for host and device alike.
set(FG_CUDA_FLAGS --fmad=false --expt-relaxed-constexpr -Werror=all-warnings
    -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter,-ffp-contract=off)

# fg_cuda_library(NAME SOURCES a.cu b.cc ... DEPENDS lib ...): device and host code.
function(fg_cuda_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:${FG_CUDA_FLAGS}> $<$<COMPILE_LANGUAGE:CXX>:${FG_COMPILE_FLAGS}>)
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_include_directories(${name} SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${A_DEPENDS} CUDA::cudart_static)
endfunction()
