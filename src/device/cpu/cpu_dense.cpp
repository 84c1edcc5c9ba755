// Dense layers on the CPU.
#include <algorithm>

#include "device/cpu/cpu_products.h"

namespace eave {
namespace {

class CpuDense final : public LinearPlan {
 public:
  CpuDense(const CpuContext& context, const DenseShape& shape) : multiplier_(context.kernels), s_(shape) {}

  std::int64_t scratch_size() const override {
    const std::int64_t forward = multiplier_.scratch(dense_output(s_, nullptr, nullptr, nullptr, nullptr));
    if (!s_.training) return forward;
    return std::max({forward, multiplier_.scratch(dense_weights_gradient(s_, nullptr, nullptr, nullptr)),
                     multiplier_.scratch(dense_input_gradient(s_, nullptr, nullptr, nullptr))});
  }

  void forward(const LinearForward& call) override {
    multiplier_.run(
        dense_output(s_, call.input.data(), call.weights.data(), array<float>(call.bias), call.output.data()),
        call.scratch.data(), "dense forward");
  }

  void backward(const LinearBackward& call) override {
    if (s_.relu || !call.d_bias.empty()) {
      cpu::add_bias_gradient(s_.relu ? call.output.data() : nullptr, call.d_output.data(), array<float>(call.d_bias),
                             s_.samples, s_.outputs);
    }
    multiplier_.run(dense_weights_gradient(s_, call.input.data(), call.d_output.data(), call.d_weights.data()),
                    call.scratch.data(), "dense weight gradient");
    if (call.d_input.empty()) return;
    multiplier_.run(dense_input_gradient(s_, call.d_output.data(), call.weights.data(), call.d_input.data()),
                    call.scratch.data(), "dense input gradient");
  }

 private:
  Multiplier multiplier_;
  DenseShape s_;
};

}  // namespace

std::unique_ptr<LinearPlan> make_cpu_plan(CpuContext& context, const DenseShape& shape) {
  return std::make_unique<CpuDense>(context, shape);
}

}  // namespace eave
