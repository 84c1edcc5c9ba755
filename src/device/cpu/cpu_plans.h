// Factories of the CPU's dense and convolution plans. cpu_compute.cpp calls them.
#pragma once

#include <dnnl.hpp>
#include <memory>

#include "eave/compute.h"
#include "kernels/cpu/wide/wide_kernels.h"

namespace eave {

// oneDNN's handles. Each CPU Compute owns one set, which outlives its plans.
struct DnnlContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

// If `kernels` is nullptr, the plans use oneDNN's operations instead.
std::unique_ptr<LinearPlan> make_cpu_dense(const cpu::WideKernels* kernels, const DenseShape& shape);
std::unique_ptr<LinearPlan> make_cpu_convolution(DnnlContext& context, const cpu::WideKernels* kernels,
                                                 const ConvolutionShape& shape);
// A Compute that uses `kernels`. make_cpu_compute chooses the fastest kernels that fit the CPU.
std::unique_ptr<Compute> make_cpu_compute_with(int threads, const cpu::WideKernels* kernels);

// Throws std::bad_alloc if oneDNN is out of memory, and Error(kInternal) with oneDNN's status for any other failure.
// `what` names the call, for the message.
void check_dnnl(dnnl_status_t status, const char* what);

}  // namespace eave
