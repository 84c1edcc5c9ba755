// The plans of the CPU, for cpu_compute.cpp.
#pragma once

#include <dnnl.hpp>
#include <memory>

#include "eave/compute.h"
#include "kernels/cpu/wide_kernels.h"

namespace eave {

// oneDNN's handles of one Compute, which outlives its plans.
struct DnnlContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

// `kernels` is nullptr where the library's operations serve instead.
std::unique_ptr<LinearPlan> make_cpu_dense(const cpu::WideKernels* kernels, const DenseShape& shape);
std::unique_ptr<LinearPlan> make_cpu_convolution(DnnlContext& context, const cpu::WideKernels* kernels,
                                                 const ConvolutionShape& shape);
// A Compute with these kernels; make_cpu_compute takes the fastest that fit.
std::unique_ptr<Compute> make_cpu_compute_with(int threads, const cpu::WideKernels* kernels);

// Throws Error(kInternal) with oneDNN's status when the call fails.
void check_dnnl(dnnl_status_t status, const char* what);

}  // namespace eave
