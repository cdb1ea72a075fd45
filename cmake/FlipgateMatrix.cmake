# flipgate_matrix_tests(CLASS OUT DIR [PROJECT DIR] [TIMEOUT SECONDS] [ARGUMENTS ...] PROGRAM PATH): the matrix of one
# hardware class in CTest.
#
#   matrix.CLASS            a fixture: removes the last bundle, runs the matrix once, passes when that run wrote a whole
#                           bundle (exit 0, 1 or 3), whatever the cells say
#   CLASS/KIND/GATE/MODEL   one test a cell, reads its outcome from that very run: pass, fail, or skipped (77)
#   verdict.CLASS           the verdict: passes when it is `proven` and in no other case
#
# Labels: matrix, class.CLASS, evidence.KIND, gate.GATE. Choosing one cell (`ctest -R`) runs the fixture first. The cells
# are asked of the program when ctest starts, as gtest_discover_tests does, so the program need not be built before
# configuring, and a matrix that grew needs no new configuring. Give ctest --no-tests=error (the presets do): a filter
# that matches nothing is otherwise no failure to it.
function(flipgate_matrix_tests class)
  cmake_parse_arguments(A "" "OUT;PROJECT;PROGRAM;TIMEOUT" "ARGUMENTS" ${ARGN})
  if(NOT A_OUT OR NOT A_PROGRAM)
    message(FATAL_ERROR "flipgate_matrix_tests(${class}): OUT and PROGRAM are required")
  endif()
  if(NOT A_PROJECT)
    set(A_PROJECT ${CMAKE_SOURCE_DIR})
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 900)
  endif()
  set(script ${CMAKE_CURRENT_BINARY_DIR}/flipgate_matrix_${class}.cmake)
  string(JOIN " " arguments ${A_ARGUMENTS})
  file(WRITE ${script}
"# Read by ctest when it starts.
set(class [==[${class}]==])
set(out [==[${A_OUT}]==])
set(project [==[${A_PROJECT}]==])
set(program [==[${A_PROGRAM}]==])
set(timeout [==[${A_TIMEOUT}]==])
set(arguments [==[${arguments}]==])
set(run_script [==[${CMAKE_SOURCE_DIR}/cmake/FlipgateMatrixRun.cmake]==])
set(cmake_command [==[${CMAKE_COMMAND}]==])
include([==[${CMAKE_SOURCE_DIR}/cmake/FlipgateMatrixTests.cmake]==])
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
