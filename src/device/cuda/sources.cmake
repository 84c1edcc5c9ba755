# The backend for GPUs, for the module and for the emulated build in test/emulated_cuda_libraries, which has no NCCL.
set(EAVE_CUDA_BACKEND_SOURCES
  cuda_algebra.cpp cuda_compute.cpp cuda_device.cpp cuda_handles.cpp device_start.cpp
  library_handles.cpp resident_images.cpp
  passes/graph_recorder.cpp passes/pass_memory.cpp
  plans/attention_plan.cpp plans/autotune.cpp plans/batch_norm_plans.cpp plans/cublas_dense.cpp plans/cublas_product.cpp
  plans/cudnn_convolution.cpp plans/cudnn_descriptor.cpp plans/cudnn_operation.cpp plans/cudnn_plan.cpp
  plans/dense_loss.cpp plans/kernel_plans.cpp plans/matrix_products.cpp plans/plan_trial.cpp plans/token_plans.cpp)
set(EAVE_NCCL_SOURCES nccl/nccl_collectives.cpp nccl/nccl_communicators.cpp)
list(TRANSFORM EAVE_CUDA_BACKEND_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM EAVE_NCCL_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
