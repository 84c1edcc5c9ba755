// Tries plans on the device before one of them is chosen. Each trial has memory of its own, which is freed afterwards.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "device/cuda/plans/autotune.h"
#include "device/cuda/plans/cublas_product.h"
#include "device/cuda/plans/cudnn_plan.h"
#include "device/cuda/plans/plans.h"

namespace eave::cuda {

// Returns the index of the fastest plan, as find_fastest does. If there is too little memory for the trial, it is the
// first plan. All functions here block, and must not be called while the stream is being captured.
Fastest find_fastest_plan(const Context& context, cudnnHandle_t handle, const std::vector<CudnnPlan>& plans,
                          const std::function<bool()>& is_spent);
Fastest find_fastest_plan(const Context& context, cublasLtHandle_t handle, const std::vector<ProductPlan>& plans,
                          const std::function<bool()>& is_spent);

// Whether a plan with relu passes NaN from its input to its output. Libraries do not promise this: on a GPU max(NaN, 0)
// is 0, and a diverged network would train on unnoticed. Also returns false if the plan cannot be run or there is too
// little memory for the trial. In each case the caller uses a separate relu, which is always correct.
bool passes_nan(const Context& context, cudnnHandle_t handle, const CudnnPlan& plan);
bool passes_nan(const Context& context, cublasLtHandle_t handle, const ProductPlan& plan);

}  // namespace eave::cuda
