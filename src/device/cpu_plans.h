// The plans of the CPU, for cpu_compute.cpp.
#pragma once

#include <dnnl.hpp>
#include <memory>

#include "eave/compute.h"

namespace eave {

// oneDNN's handles of one Compute, which outlives its plans.
struct DnnlContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

std::unique_ptr<LinearPlan> make_cpu_dense(const DenseShape& shape);
std::unique_ptr<LinearPlan> make_cpu_convolution(DnnlContext& context, const ConvolutionShape& shape);

// Throws Error(kInternal) with oneDNN's status when the call fails.
void check_dnnl(dnnl_status_t status, const char* what);

}  // namespace eave
