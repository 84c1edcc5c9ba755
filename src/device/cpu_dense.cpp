#include <dnnl.h>

#include "device/cpu_plans.h"
#include "kernels/cpu/elementwise.h"

namespace eave {
namespace {

class CpuDense final : public LinearPlan {
 public:
  explicit CpuDense(const DenseShape& shape) : shape_(shape) {}

  void forward(const LinearForward& call) override {
    const auto [n, in, out, relu, training] = shape_;
    check_dnnl(dnnl_sgemm('N', 'N', n, out, in, 1, call.input.data(), in, call.weights.data(), out, 0,
                          call.output.data(), out),
               "dense forward");
    const float* bias = call.bias.empty() ? nullptr : call.bias.data();
    if (relu || bias != nullptr) cpu::add_bias(call.output.data(), bias, relu, n, out);
  }

  void backward(const LinearBackward& call) override {
    const auto [n, in, out, relu, training] = shape_;
    const float* mask = relu ? call.output.data() : nullptr;
    float* d_bias = call.d_bias.empty() ? nullptr : call.d_bias.data();
    if (relu || d_bias != nullptr) cpu::add_bias_gradient(mask, call.d_output.data(), d_bias, n, out);
    check_dnnl(dnnl_sgemm('T', 'N', in, out, n, 1, call.input.data(), in, call.d_output.data(), out, 0,
                          call.d_weights.data(), out),
               "dense weight gradient");
    if (call.d_input.empty()) return;
    check_dnnl(dnnl_sgemm('N', 'T', n, in, out, 1, call.d_output.data(), out, call.weights.data(), out, 0,
                          call.d_input.data(), in),
               "dense input gradient");
  }

 private:
  DenseShape shape_;
};

}  // namespace

std::unique_ptr<LinearPlan> make_cpu_dense(const DenseShape& shape) { return std::make_unique<CpuDense>(shape); }

}  // namespace eave
