# The kernels, in alphabetical order, for the build with nvcc and for the emulated build in test/emulated_cuda.
set(EAVE_CUDA_KERNEL_SOURCES
  activation.cu attention.cu attention_gradient.cu batch_norm.cu dropout.cu elementwise.cu embedding.cu filter.cu flat.cu gated.cu
  images.cu support/launch.cpp local_response_norm.cu loss.cu passes.cu pool.cu rotary.cu row_norm.cu shortcut.cu)
list(TRANSFORM EAVE_CUDA_KERNEL_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# Fused multiply-add is off, and denormal numbers are read and written as zero, as in the CPU's compute threads. So equal
# inputs give the CPU's bits. This costs no time, because all of these kernels are bound by memory.
set(EAVE_CUDA_KERNEL_OPTIONS -fmad=false -ftz=true)
