// Matrix products for the CPU's plans, and the three products of a dense layer.
#pragma once

#include <dnnl.h>

#include <utility>

#include "device/cpu/cpu_plans.h"
#include "device/kernel_arguments.h"
#include "kernels/cpu/elementwise.h"

namespace eave {

// Computes products by eave's kernels, which need scratch but no other memory, or by oneDNN's.
class Multiplier {
 public:
  explicit Multiplier(const cpu::WideKernels* kernels) : kernels_(kernels) {}
  std::int64_t scratch(const cpu::Product& p) const { return kernels_ == nullptr ? 0 : kernels_->multiply_scratch(p); }
  // `what` names the product in errors. A product with a bias or relu has a contiguous c and does not accumulate.
  void run(const cpu::Product& p, float* scratch, const char* what) const {
    if (kernels_ != nullptr) return kernels_->multiply(p, scratch);
    check_dnnl(dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.rows, p.columns, p.depth, 1, p.a,
                          p.a_stride, p.b, p.b_stride, p.accumulate ? 1 : 0, p.c, p.c_stride),
               what);
    if (p.bias != nullptr || p.relu) cpu::add_bias(p.c, p.bias, p.relu, p.rows, p.columns);
  }

 private:
  const cpu::WideKernels* kernels_;
};

// output = input · weights + bias
inline cpu::Product dense_output(const DenseShape& s, const float* input, const float* weights, const float* bias,
                                 float* output) {
  cpu::Product p;
  p.rows = s.samples, p.columns = s.outputs, p.depth = s.inputs;
  p.a = input, p.a_stride = s.inputs;
  p.b = weights, p.b_stride = s.transposed ? s.inputs : s.outputs, p.b_transposed = s.transposed;
  p.c = output, p.c_stride = s.outputs;
  p.bias = bias, p.relu = s.relu;
  return p;
}

// d_weights = inputᵀ · d_output, or with transposed weights the product of the same matrices the other way round.
inline cpu::Product dense_weights_gradient(const DenseShape& s, const float* input, const float* d_output,
                                           float* d_weights) {
  cpu::Product p;
  p.rows = s.inputs, p.columns = s.outputs, p.depth = s.samples;
  p.a = input, p.b = d_output;
  if (s.transposed) {
    std::swap(p.a, p.b);
    std::swap(p.rows, p.columns);
  }
  p.a_stride = p.rows, p.a_transposed = true;
  p.b_stride = p.columns;
  p.c = d_weights, p.c_stride = p.columns;
  return p;
}

// d_input = d_output · weightsᵀ
inline cpu::Product dense_input_gradient(const DenseShape& s, const float* d_output, const float* weights,
                                         float* d_input) {
  cpu::Product p;
  p.rows = s.samples, p.columns = s.inputs, p.depth = s.outputs;
  p.a = d_output, p.a_stride = s.outputs;
  p.b = weights, p.b_stride = s.transposed ? s.inputs : s.outputs, p.b_transposed = !s.transposed;
  p.c = d_input, p.c_stride = s.inputs;
  return p;
}

}  // namespace eave
