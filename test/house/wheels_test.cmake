# cuBLAS, cuDNN and NCCL are found in python3's packages as pip lays them out, and only in those of the toolkit's CUDA:
# cmake -DSOURCES=... -DPLACE=... -P wheels_test.cmake. The packages, in PLACE, are empty files.
function(write_package folder major name)
  file(WRITE ${folder}/nvidia_${name}-9.9.dist-info/METADATA "")
  if(name STREQUAL cublas)
    file(WRITE ${folder}/nvidia/cu${major}/include/cublasLt.h "")
    file(WRITE ${folder}/nvidia/cu${major}/lib/libcublasLt.so.${major} "")
  elseif(name MATCHES cudnn)
    file(WRITE ${folder}/nvidia/cudnn/include/cudnn_version.h
      "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 19\n#define CUDNN_PATCHLEVEL 1\n")
    file(WRITE ${folder}/nvidia/cudnn/lib/libcudnn.so.9 "")
  else()
    file(WRITE ${folder}/nvidia/nccl/include/nccl.h "#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n")
    file(WRITE ${folder}/nvidia/nccl/lib/libnccl.so.2 "")
  endif()
endfunction()

# What a project of CUDA's MAJOR finds in the packages of FOLDERS.
function(find_in folders major variable)
  file(REMOVE_RECURSE ${PLACE}/build)
  list(JOIN folders ":" path)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PATH=${PLACE}/bin:$ENV{PATH} PYTHONPATH=${path} --unset=CUDNN_ROOT --unset=NCCL_ROOT --unset=CUBLAS_ROOT
            ${CMAKE_COMMAND} -S ${PLACE}/project -B ${PLACE}/build -DMAJOR=${major}
    OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "the project cannot be configured:\n${said}")
  endif()
  set(${variable} "${said}" PARENT_SCOPE)
endfunction()

function(expect said words)
  if(NOT said MATCHES "${words}")
    message(SEND_ERROR "'${words}' is not in:\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${PLACE})
# Without packages of this machine's own.
find_program(PYTHON3 python3 REQUIRED)
file(WRITE ${PLACE}/bin/python3 "#!/bin/sh\nexec '${PYTHON3}' -S \"$@\"\n")
file(CHMOD ${PLACE}/bin/python3 PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
file(WRITE ${PLACE}/project/CMakeLists.txt "
cmake_minimum_required(VERSION 3.22)
project(finds NONE)
set(CMAKE_FIND_LIBRARY_PREFIXES lib)
set(CMAKE_FIND_LIBRARY_SUFFIXES .so)
set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CUDAToolkit_VERSION_MAJOR \${MAJOR})
list(APPEND CMAKE_MODULE_PATH ${SOURCES}/src/cmake)
include(${SOURCES}/src/cmake/python_nvidia.cmake)
find_python_nvidia(EAVE_PYTHON_NVIDIA)
find_wheels(EAVE_CUDNN_WHEELS cudnn)
find_wheels(EAVE_NCCL_WHEELS nccl)
find_cublas_wheels(EAVE_CUBLAS_WHEELS)
foreach(name cuBLASLt cuDNN NCCL)
  find_package(\${name})
  message(STATUS \"\${name} \${\${name}_VERSION}: \${\${name}_LIBRARY} \${\${name}_INCLUDE_DIR}.\")
endforeach()
")

# Those of the system, and a user's: NCCL is only among the second.
foreach(name cublas cudnn_cu13)
  write_package(${PLACE}/system 13 ${name})
endforeach()
write_package(${PLACE}/user 13 nccl_cu13)
find_in("${PLACE}/system;${PLACE}/user" 13 said)
expect("${said}" "cuBLASLt : [^ ]*/system/nvidia/cu13/lib/libcublasLt.so.13 [^ ]*/system/nvidia/cu13/include\\.")
expect("${said}" "cuDNN 9.19.1: [^ ]*/system/nvidia/cudnn/lib/libcudnn.so.9 [^ ]*/system/nvidia/cudnn/include\\.")
expect("${said}" "NCCL 2.28.9: [^ ]*/user/nvidia/nccl/lib/libnccl.so.2 [^ ]*/user/nvidia/nccl/include\\.")

# Of another CUDA than the toolkit.
find_in("${PLACE}/system;${PLACE}/user" 12 said)
expect("${said}" "cuBLASLt : cuBLASLt_LIBRARY-NOTFOUND")
expect("${said}" "cuDNN : cuDNN_LIBRARY-NOTFOUND")
expect("${said}" "NCCL : NCCL_LIBRARY-NOTFOUND")
file(REMOVE_RECURSE ${PLACE})
