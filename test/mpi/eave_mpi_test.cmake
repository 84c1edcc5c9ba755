# Tests under mpirun.
include_guard()

# Open MPI refuses to start for root (containers, CI) and for more ranks than cores unless told.
set(EAVE_MPI_ENVIRONMENT
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1)
# It leaves 120 kB behind when it ends, much of it of components that are unloaded by then and have no names, so leaks of
# programs under it cannot be told from its own.
if(EAVE_SANITIZE MATCHES address)
  list(APPEND EAVE_MPI_ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()

# eave_mpi_test(<target> RANKS <numbers…> [TIMEOUT s] [TIMED filter]): one ctest mpi.<target>.<ranks> for each number. The program
# links test/mpi/ranks_under_mpirun.cpp, which refuses to pass on another number of ranks than it is told. TIMED: these of its
# TESTs hold times against bounds, so they are a ctest apart, mpi.<target>.<ranks>.timed, and nothing is to run beside it.
function(eave_mpi_test target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "TIMEOUT;TIMED" "RANKS")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_dependencies(mpi_tests ${target})
  foreach(ranks ${ARG_RANKS})
    set(test mpi.${target}.${ranks})
    set(command ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:${target}> --ranks=${ranks})
    set(untimed)
    if(ARG_TIMED)
      set(untimed --gtest_filter=-${ARG_TIMED})
      add_test(NAME ${test}.timed COMMAND ${command} --gtest_filter=${ARG_TIMED})
      set_tests_properties(${test}.timed PROPERTIES
        TIMEOUT ${ARG_TIMEOUT} LABELS mpi-alone RUN_SERIAL TRUE ENVIRONMENT "${EAVE_MPI_ENVIRONMENT}")
    endif()
    add_test(NAME ${test} COMMAND ${command} ${untimed})
    set_tests_properties(${test} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS mpi PROCESSORS 2 ENVIRONMENT "${EAVE_MPI_ENVIRONMENT}")
  endforeach()
endfunction()
