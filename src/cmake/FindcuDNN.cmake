# cuDNN::cudnn, cuDNN_VERSION. Looks into CUDNN_ROOT (or cuDNN_ROOT), then where the CUDA toolkit is, then where the
# system keeps libraries. A Python package's folder (…/nvidia/cudnn) will do: it has no libcudnn.so, only libcudnn.so.9.
# libcudnn is a door to seven other libraries beside it, which it opens itself when they are wanted.
set(roots ${cuDNN_ROOT} ${CUDNN_ROOT} $ENV{CUDNN_ROOT})
find_path(cuDNN_INCLUDE_DIR cudnn_version.h PATH_SUFFIXES include
  HINTS ${roots} ${CUDAToolkit_INCLUDE_DIRS} ${EAVE_CUDNN_WHEELS})
find_library(cuDNN_LIBRARY NAMES cudnn libcudnn.so.9 NAMES_PER_DIR PATH_SUFFIXES lib lib64
  HINTS ${roots} ${cuDNN_INCLUDE_DIR}/..)

if(cuDNN_INCLUDE_DIR)
  file(STRINGS ${cuDNN_INCLUDE_DIR}/cudnn_version.h lines REGEX "#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
  string(REGEX REPLACE "[^0-9]+([0-9]+)" ".\\1" cuDNN_VERSION "${lines}")
  string(REGEX REPLACE "^\\." "" cuDNN_VERSION "${cuDNN_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuDNN REQUIRED_VARS cuDNN_LIBRARY cuDNN_INCLUDE_DIR VERSION_VAR cuDNN_VERSION
  REASON_FAILURE_MESSAGE "run mpi_launch/install_cuda, or name its folder with -DCUDNN_ROOT=DIR")
mark_as_advanced(cuDNN_LIBRARY cuDNN_INCLUDE_DIR)

if(cuDNN_FOUND AND NOT TARGET cuDNN::cudnn)
  add_library(cuDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(cuDNN::cudnn PROPERTIES
    IMPORTED_LOCATION ${cuDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${cuDNN_INCLUDE_DIR})
endif()
