# Read by ctest, with the variables that flipgate_matrix_tests() wrote: asks the program for the cells and adds the tests.
set(cells "")
set(list_error "")
if(EXISTS "${program}")
  execute_process(COMMAND "${program}" list --cells --class "${class}" --project "${project}"
                  OUTPUT_VARIABLE cells ERROR_VARIABLE list_error RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    set(cells "")
    set(list_error "flipgate list ended with ${code}: ${list_error}")
  endif()
else()
  set(list_error "${program} is not built")
endif()
string(REGEX REPLACE "\n+$" "" cells "${cells}")
string(REPLACE "\n" ";" cells "${cells}")
if(NOT cells AND NOT list_error)
  set(list_error "flipgate list named no cell")
endif()

add_test("matrix.${class}" "${cmake_command}" "-Dprogram=${program}" "-Dclass=${class}" "-Dout=${out}"
         "-Dproject=${project}" "-Darguments=${arguments}" "-Dlist_error=${list_error}" -P "${run_script}")
set_tests_properties("matrix.${class}" PROPERTIES FIXTURES_SETUP "matrix.${class}" RUN_SERIAL TRUE
                     TIMEOUT "${timeout}" LABELS "matrix;class.${class}" WORKING_DIRECTORY "${project}")

add_test("verdict.${class}" "${program}" cell-status --bundle "${out}")
set_tests_properties("verdict.${class}" PROPERTIES FIXTURES_REQUIRED "matrix.${class}"
                     LABELS "matrix;class.${class}" WORKING_DIRECTORY "${project}")

foreach(cell IN LISTS cells)
  string(REPLACE "/" ";" parts "${cell}")
  list(GET parts 0 kind)
  list(GET parts 1 gate)
  add_test("${class}/${cell}" "${program}" cell-status --bundle "${out}" "${cell}")
  set_tests_properties("${class}/${cell}" PROPERTIES FIXTURES_REQUIRED "matrix.${class}" SKIP_RETURN_CODE 77
                       LABELS "matrix;class.${class};evidence.${kind};gate.${gate}" WORKING_DIRECTORY "${project}")
endforeach()
