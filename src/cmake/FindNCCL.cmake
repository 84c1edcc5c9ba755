# NCCL::nccl, NCCL_VERSION. Looks into NCCL_ROOT, then where the CUDA toolkit is, then where the system keeps libraries.
# A Python package's folder (…/nvidia/nccl) will do: it has no libnccl.so, only libnccl.so.2.
find_path(NCCL_INCLUDE_DIR nccl.h PATH_SUFFIXES include HINTS ${CUDAToolkit_INCLUDE_DIRS} ${EAVE_NCCL_WHEELS})
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 NAMES_PER_DIR PATH_SUFFIXES lib lib64
  HINTS ${NCCL_INCLUDE_DIR}/..)

if(NCCL_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9]+([0-9]+)" ".\\1" NCCL_VERSION "${lines}")
  string(REGEX REPLACE "^\\." "" NCCL_VERSION "${NCCL_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION
  REASON_FAILURE_MESSAGE "run mpi_launch/install_cuda, or name its folder with -DNCCL_ROOT=DIR")
mark_as_advanced(NCCL_LIBRARY NCCL_INCLUDE_DIR)

if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES
    IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
