# Finds the parts that a build with EAVE_CUDA=ON needs: nvcc, and the targets CUDA::cudart_static, CUDA::cublasLt, cuDNN::cudnn and
# NCCL::nccl. Looked for in this order: CUDAToolkit_ROOT, CUDNN_ROOT and NCCL_ROOT (cache or environment), what is on the
# PATH, /usr/local/cuda, what mpi_launch/install_cuda made; cuBLAS, cuDNN and NCCL also among python3's packages.
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
include(${CMAKE_CURRENT_LIST_DIR}/python_nvidia.cmake)
if(POLICY CMP0144)
  cmake_policy(SET CMP0144 NEW) # CUDNN_ROOT is also looked into for cuDNN; without a word CMake 3.27 warns of it
endif()

# CMake by itself looks only at CUDACXX and the PATH for the compiler.
macro(find_nvcc)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(made $ENV{XDG_CACHE_HOME})
    if(NOT made)
      set(made $ENV{HOME}/.cache)
    endif()
    find_program(EAVE_NVCC nvcc PATH_SUFFIXES bin NO_CMAKE_SYSTEM_PATH
      HINTS ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH}
      PATHS /usr/local/cuda ${made}/eave/cuda-13.0 ${made}/eave/cuda-12.4)
    if(NOT EAVE_NVCC)
      message(FATAL_ERROR "no nvcc here. Run mpi_launch/install_cuda, or name a CUDA toolkit with -DCUDAToolkit_ROOT=DIR")
    endif()
    set(CMAKE_CUDA_COMPILER ${EAVE_NVCC} CACHE FILEPATH "The CUDA compiler")
  endif()
endmacro()

# Machine code for each, and for the last also what drivers translate for GPUs to come.
macro(choose_architectures)
  if(eave_chooses_architectures)
    set(chosen 75-real 80-real 86-real 89-real 90-real 100)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.8)
      set(chosen 75-real 80-real 86-real 89-real 90)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${chosen} CACHE STRING "Compute capabilities to compile for" FORCE)
  endif()
endmacro()

set(eave_chooses_architectures OFF)
if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(eave_chooses_architectures ON)
endif()
find_nvcc()
enable_language(CUDA)
choose_architectures()
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
  message(FATAL_ERROR "CUDA 12 or 13 is needed; ${CMAKE_CUDA_COMPILER} is of ${CMAKE_CUDA_COMPILER_VERSION}")
endif()

# CMake before 3.26 knows no C++20 for nvcc. Earlier than enable_language these lines would break its check of nvcc.
set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)

find_package(CUDAToolkit REQUIRED)
find_python_nvidia(EAVE_PYTHON_NVIDIA)
find_wheels(EAVE_CUDNN_WHEELS cudnn)
find_wheels(EAVE_NCCL_WHEELS nccl)
find_cublas_wheels(EAVE_CUBLAS_WHEELS)
if(NOT TARGET CUDA::cublasLt)
  find_package(cuBLASLt REQUIRED)
endif()
find_package(cuDNN 9.8 REQUIRED)
find_package(NCCL 2.18 REQUIRED)
list(JOIN CMAKE_CUDA_ARCHITECTURES " " text)
message(STATUS "CUDA ${CUDAToolkit_VERSION}, cuDNN ${cuDNN_VERSION}, NCCL ${NCCL_VERSION}; for ${text}")

add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler -Wall,-Wextra,-Wshadow>")
if(EAVE_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings -Xcompiler -Werror>")
endif()

# The backend is a module, whose parts must not care where they are loaded.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
