# Tests of the kernels, for the build with nvcc and for the emulated one of test/emulated_cuda. In alphabetical order.
set(EAVE_CUDA_KERNEL_TESTS activations_test.cpp algebra_test.cpp attention_test.cpp filter_test.cpp images_test.cpp layers_test.cpp passes_test.cpp
  response_norm_test.cpp samples_test.cpp tokens_test.cpp)
list(TRANSFORM EAVE_CUDA_KERNEL_TESTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
