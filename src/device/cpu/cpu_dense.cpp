// Dense layers on the CPU, by eave's matrix products or by oneDNN's.
#include <dnnl.h>

#include <algorithm>
#include <utility>

#include "device/cpu/cpu_plans.h"
#include "device/kernel_arguments.h"
#include "kernels/cpu/elementwise.h"

namespace eave {
namespace {

// Uses eave's products, which include bias and relu and need no memory of their own.
class WideDense final : public LinearPlan {
 public:
  WideDense(const cpu::WideKernels& kernels, const DenseShape& shape) : kernels_(kernels), s_(shape) {}

  std::int64_t scratch_size() const override {
    const std::int64_t forward = kernels_.multiply_scratch(forward_product({}));
    if (!s_.training) return forward;
    return std::max(
        {forward, kernels_.multiply_scratch(weights_product({})), kernels_.multiply_scratch(input_product({}))});
  }

  void forward(const LinearForward& call) override { kernels_.multiply(forward_product(call), call.scratch.data()); }

  void backward(const LinearBackward& call) override {
    cpu::add_bias_gradient(s_.relu ? call.output.data() : nullptr, call.d_output.data(), array<float>(call.d_bias),
                           s_.samples, s_.outputs);
    kernels_.multiply(weights_product(call), call.scratch.data());
    if (!call.d_input.empty()) kernels_.multiply(input_product(call), call.scratch.data());
  }

 private:
  cpu::Product forward_product(const LinearForward& call) const {
    return {s_.samples,
            s_.outputs,
            s_.inputs,
            call.input.data(),
            s_.inputs,
            false,
            call.weights.data(),
            s_.transposed ? s_.inputs : s_.outputs,
            s_.transposed,
            call.output.data(),
            s_.outputs,
            array<float>(call.bias),
            s_.relu};
  }
  // The product of the two matrices, or with transposed weights that of the same matrices the other way round.
  cpu::Product weights_product(const LinearBackward& call) const {
    const float *first = call.input.data(), *second = call.d_output.data();
    std::int64_t rows = s_.inputs, columns = s_.outputs;
    if (s_.transposed) {
      std::swap(first, second);
      std::swap(rows, columns);
    }
    return {rows,    columns, s_.samples, first, rows, true, second, columns, false, call.d_weights.data(),
            columns, nullptr, false};
  }
  cpu::Product input_product(const LinearBackward& call) const {
    return {s_.samples,
            s_.inputs,
            s_.outputs,
            call.d_output.data(),
            s_.outputs,
            false,
            call.weights.data(),
            s_.transposed ? s_.inputs : s_.outputs,
            !s_.transposed,
            call.d_input.data(),
            s_.inputs,
            nullptr,
            false};
  }

  const cpu::WideKernels& kernels_;
  DenseShape s_;
};

class DnnlDense final : public LinearPlan {
 public:
  explicit DnnlDense(const DenseShape& shape) : s_(shape) {}

  void forward(const LinearForward& call) override {
    check_dnnl(dnnl_sgemm('N', s_.transposed ? 'T' : 'N', s_.samples, s_.outputs, s_.inputs, 1, call.input.data(),
                          s_.inputs, call.weights.data(), weight_stride(), 0, call.output.data(), s_.outputs),
               "dense forward");
    cpu::add_bias(call.output.data(), array<float>(call.bias), s_.relu, s_.samples, s_.outputs);
  }

  void backward(const LinearBackward& call) override {
    const float* d_output = call.d_output.data();
    cpu::add_bias_gradient(s_.relu ? call.output.data() : nullptr, call.d_output.data(), array<float>(call.d_bias),
                           s_.samples, s_.outputs);
    const float *first = call.input.data(), *second = d_output;
    std::int64_t rows = s_.inputs, columns = s_.outputs;
    if (s_.transposed) {
      std::swap(first, second);
      std::swap(rows, columns);
    }
    check_dnnl(dnnl_sgemm('T', 'N', rows, columns, s_.samples, 1, first, rows, second, columns, 0,
                          call.d_weights.data(), columns),
               "dense weight gradient");
    if (call.d_input.empty()) return;
    check_dnnl(dnnl_sgemm('N', s_.transposed ? 'N' : 'T', s_.samples, s_.inputs, s_.outputs, 1, d_output, s_.outputs,
                          call.weights.data(), weight_stride(), 0, call.d_input.data(), s_.inputs),
               "dense input gradient");
  }

 private:
  std::int64_t weight_stride() const { return s_.transposed ? s_.inputs : s_.outputs; }

  DenseShape s_;
};

}  // namespace

std::unique_ptr<LinearPlan> make_cpu_plan(CpuContext& context, const DenseShape& shape) {
  if (context.kernels != nullptr) return std::make_unique<WideDense>(*context.kernels, shape);
  return std::make_unique<DnnlDense>(shape);
}

}  // namespace eave
