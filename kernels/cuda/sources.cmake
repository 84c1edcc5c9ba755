# The kernels, for the build with nvcc and for the emulated one of test/emulated_cuda. In alphabetical order.
set(EAVE_CUDA_KERNEL_SOURCES
  batch_norm.cu center.cu dropout.cu elementwise.cu filter.cu flat.cu images.cu launch.cpp
  local_response_norm.cu loss.cu pool.cu shortcut.cu update.cu)
list(TRANSFORM EAVE_CUDA_KERNEL_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# Fused multiply-add off, and denormal numbers read and written as zero, as the CPU's compute threads do: equal inputs
# give the CPU's bits. All of these kernels are bound by memory.
set(EAVE_CUDA_KERNEL_OPTIONS -fmad=false -ftz=true)
