# CUDA::cublasLt, for toolkits that come without cuBLAS: FindCUDAToolkit makes the target where the toolkit has it.
# Looks into CUBLAS_ROOT, then among python3's packages, which have no libcublasLt.so, only libcublasLt.so.<major>.
set(roots ${CUBLAS_ROOT} $ENV{CUBLAS_ROOT} ${EAVE_CUBLAS_WHEELS})
find_path(cuBLASLt_INCLUDE_DIR cublasLt.h PATH_SUFFIXES include HINTS ${roots} ${CUDAToolkit_INCLUDE_DIRS})
find_library(cuBLASLt_LIBRARY NAMES cublasLt libcublasLt.so.${CUDAToolkit_VERSION_MAJOR} NAMES_PER_DIR
  PATH_SUFFIXES lib lib64 HINTS ${roots} ${cuBLASLt_INCLUDE_DIR}/..)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuBLASLt REQUIRED_VARS cuBLASLt_LIBRARY cuBLASLt_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "run mpi_launch/install_cuda, or name its folder with -DCUBLAS_ROOT=DIR")
mark_as_advanced(cuBLASLt_LIBRARY cuBLASLt_INCLUDE_DIR)

if(cuBLASLt_FOUND AND NOT TARGET CUDA::cublasLt)
  add_library(CUDA::cublasLt UNKNOWN IMPORTED)
  set_target_properties(CUDA::cublasLt PROPERTIES
    IMPORTED_LOCATION ${cuBLASLt_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${cuBLASLt_INCLUDE_DIR})
endif()
