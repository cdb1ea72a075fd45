# Targets of this project, all with the same flags. The arithmetic of docs/arithmetic.md needs
# -ffp-contract=off everywhere: g++ contracts even AVX intrinsics to FMA without it.
# -Wno-restrict: g++ 12 sees overlapping copies in "x" + std::string that are none (GCC bug 105651).
set(FG_COMPILE_FLAGS -Wall -Wextra -Werror -Wno-restrict -ffp-contract=off)

function(_fg_common target)
  target_compile_options(${target} PRIVATE ${FG_COMPILE_FLAGS})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  if(FG_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${FG_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${FG_SANITIZE})
  endif()
endfunction()

# fg_library(NAME SOURCES a.cc ... DEPENDS lib ...)
function(fg_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  _fg_common(${name})
  target_link_libraries(${name} PUBLIC ${A_DEPENDS})
endfunction()

# fg_program(NAME SOURCES a.cc ... DEPENDS lib ...)
function(fg_program name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  _fg_common(${name})
  target_link_libraries(${name} PRIVATE ${A_DEPENDS})
endfunction()

# fg_test(STEM DEPENDS lib ... [DATA program ...]): STEM.cc beside its unit becomes one CTest per
# case. A path in STEM (cpu/mmq_test) is kept in the target's name with '_' for '/'.
function(fg_test stem)
  if(NOT FG_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(A "" "" "DEPENDS;DATA" ${ARGN})
  file(RELATIVE_PATH here ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" target "${here}_${stem}")
  add_executable(${target} ${stem}.cc)
  _fg_common(${target})
  # Tests and the suite wait for processes, not for loops: -O1 takes a third off their compile time.
  target_compile_options(${target} PRIVATE -O1)
  target_compile_definitions(${target} PRIVATE FG_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             FG_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${target} PRIVATE ${A_DEPENDS} fg_test_dir GTest::gtest GTest::gmock GTest::gtest_main)
  if(A_DATA)
    add_dependencies(${target} ${A_DATA})
  endif()
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${here}/"
                       WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTIES LABELS unit)
endfunction()

# fg_benchmark(STEM DEPENDS lib ...)
function(fg_benchmark stem)
  if(NOT FG_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(A "" "" "DEPENDS" ${ARGN})
  file(RELATIVE_PATH here ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" "_" target "${here}_${stem}")
  fg_program(${target} SOURCES ${stem}.cc DEPENDS ${A_DEPENDS} benchmark::benchmark
             benchmark::benchmark_main)
endfunction()

# fg_python_test(PATH [DATA target ...]): PATH from the root, run by the interpreter that has numpy
# and jinja2. Recorded in registered_python_tests.txt, which tests/flags_test.cc reads.
function(fg_python_test path)
  if(NOT FG_BUILD_TESTS)
    return()
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY FG_PYTHON_TESTS "${path}\n")
  add_test(NAME ${path} COMMAND ${FG_PYTHON} ${CMAKE_SOURCE_DIR}/${path}
           WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${path} PROPERTIES LABELS unit
    ENVIRONMENT "FG_BINARY_DIR=${CMAKE_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
endfunction()
