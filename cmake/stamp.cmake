# What a build says of itself: generated/engine/build_stamp.h, written by scripts/stamp at every
# build, and generated/engine/build_toolchain.h, written when the build is configured.

add_custom_target(fg_build_stamp
  COMMAND ${CMAKE_SOURCE_DIR}/scripts/stamp ${CMAKE_SOURCE_DIR} ${PROJECT_VERSION}
          ${CMAKE_BINARY_DIR}/generated/engine/build_stamp.h
  BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/engine/build_stamp.h
  COMMENT "Stamping the build" VERBATIM)

string(TOUPPER "${CMAKE_BUILD_TYPE}" _fg_type)
set(_fg_flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${_fg_type}} -std=c++${CMAKE_CXX_STANDARD}
              ${FG_COMPILE_FLAGS})
if(FG_SANITIZE)
  list(APPEND _fg_flags -fsanitize=${FG_SANITIZE} -fno-sanitize-recover=all)
endif()
string(REPLACE ";" " " _fg_flags "${_fg_flags}")
string(REGEX REPLACE "([\\\\\"])" "\\\\\\1" _fg_flags "${_fg_flags}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/engine/build_toolchain.h @ONLY CONTENT
[[// Written by cmake/stamp.cmake.
#pragma once

namespace fg::toolchain {
inline constexpr char kCompiler[] = "@CMAKE_CXX_COMPILER_ID@ @CMAKE_CXX_COMPILER_VERSION@";
inline constexpr char kFlags[] = "@_fg_flags@";
}  // namespace fg::toolchain
]])
