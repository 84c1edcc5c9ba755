// Plans are tried on the device before one is taken: each in memory of its own, which goes afterwards.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "device/cuda/autotune.h"
#include "device/cuda/cublas_product.h"
#include "device/cuda/cudnn_plan.h"
#include "device/cuda/plans.h"

namespace eave::cuda {

// The place of the fastest, as by find_fastest; if memory for the trial is short, the first. Blocks; not while the
// stream is being captured. So do those below.
Fastest find_fastest_plan(const Context& context, cudnnHandle_t handle, const std::vector<CudnnPlan>& plans,
                          const std::function<bool()>& is_spent);
Fastest find_fastest_plan(const Context& context, cublasLtHandle_t handle, const std::vector<ProductPlan>& plans,
                          const std::function<bool()>& is_spent);

// Whether NaN in the input comes out of a plan with relu. Libraries promise nothing: max(NaN, 0) is 0 to a GPU, and a
// network that has diverged would train on. False also if the plan cannot be run, or memory for the trial is short: the
// relu by itself, which takes its place, is right in either case.
bool passes_nan(const Context& context, cudnnHandle_t handle, const CudnnPlan& plan);
bool passes_nan(const Context& context, cublasLtHandle_t handle, const ProductPlan& plan);

}  // namespace eave::cuda
