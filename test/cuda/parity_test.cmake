# eave_parity_test(<room> <module> <steps>): a GPU, real or emulated, against the CPU.
function(eave_parity_test room module steps)
  set(here ${PROJECT_SOURCE_DIR}/test/cuda)
  eave_test(${room} SOURCES ${here}/averager_parity_test.cpp ${here}/copy_queue_test.cpp ${here}/matrix_product_parity_test.cpp ${here}/model_parity_test.cpp ${here}/token_parity_test.cpp
            ${here}/training_parity_test.cpp ${here}/../train/training.cpp
            LINK ranks_in_process eave_c eave_train eave_optim)
  target_compile_definitions(test_${room} PRIVATE
    EAVE_CUDA_MODULE="$<TARGET_FILE:${module}>" EAVE_PARITY_STEPS=${steps})
  add_dependencies(test_${room} ${module})
endfunction()
