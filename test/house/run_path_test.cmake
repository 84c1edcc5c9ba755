# Installed programs find each library where it was linked: cmake -DSOURCES=... -DPLACE=... -P run_path_test.cmake. The
# libraries, in PLACE, are files of one word.
cmake_minimum_required(VERSION 3.22)
include(${SOURCES}/src/cmake/run_path.cmake)

function(expect_directories wanted)
  list_foreign_directories(found "${PLACE}/usr/lib;${PLACE}/lib" ${ARGN})
  if(NOT "${found}" STREQUAL "${wanted}")
    message(SEND_ERROR "${ARGN}: the run path is '${found}', not '${wanted}'")
  endif()
endfunction()

# As a package lays it out: the file, and a link for linkers.
function(write_library directory name version)
  file(WRITE ${directory}/${name}.${version} ${directory})
  file(CREATE_LINK ${name}.${version} ${directory}/${name} SYMBOLIC)
endfunction()

file(REMOVE_RECURSE ${PLACE})
write_library(${PLACE}/usr/lib libdnnl.so 2)
write_library(${PLACE}/opt/onednn3/lib libdnnl.so 3)
write_library(${PLACE}/opt/mpi/lib libmpi.so 40)
expect_directories("" ${PLACE}/usr/lib/libdnnl.so)
expect_directories(${PLACE}/opt/mpi/lib ${PLACE}/opt/mpi/lib/libmpi.so)
# Another version of it is in the system.
expect_directories("${PLACE}/opt/onednn3/lib;${PLACE}/opt/mpi/lib" ${PLACE}/opt/onednn3/lib/libdnnl.so
                   ${PLACE}/usr/lib/libdnnl.so ${PLACE}/opt/mpi/lib/libmpi.so)
# As Debian has its MPI: the loader finds it by a link.
write_library(${PLACE}/usr/lib/openmpi libmpi.so 40)
file(CREATE_LINK openmpi/libmpi.so.40 ${PLACE}/usr/lib/libmpi.so.40 SYMBOLIC)
expect_directories("" ${PLACE}/usr/lib/openmpi/libmpi.so pthread)
