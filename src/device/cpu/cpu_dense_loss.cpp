// The last dense layer and the loss on the CPU. The logits of a few rows are in memory at a time. In training they
// become their gradients in place, which at once give the gradients of input and weights.
#include <algorithm>

#include "device/cpu/cpu_products.h"
#include "kernels/cpu/tokens.h"

namespace eave {
namespace {

// Logits in memory at a time: 52 MiB, or 271 rows of GPT-2's vocabulary. The weights and their gradient pass through
// the caches once for these, so fewer would cost time.
constexpr std::int64_t kMostLogits = std::int64_t{13} << 20;

class CpuDenseLoss final : public DenseLossShape::Plan {
 public:
  CpuDenseLoss(CpuContext& context, const DenseLossShape& shape)
      : multiplier_(context.kernels), pass_(context.pass), s_(shape), chunk_(shape.dense) {
    const std::int64_t rows = s_.dense.samples, most = std::max<std::int64_t>(1, kMostLogits / s_.dense.outputs);
    const std::int64_t chunks = (rows + most - 1) / most;
    chunk_.samples = (rows + chunks - 1) / chunks;
    logits_size_ = (chunk_.samples * chunk_.outputs + 15) / 16 * 16;
    // The last chunk may have fewer rows, and a product with fewer rows may need more scratch.
    for (DenseShape shape_of_chunk : {chunk_, last_chunk()}) {
      product_scratch_ = std::max(
          {product_scratch_, multiplier_.scratch(dense_output(shape_of_chunk, nullptr, nullptr, nullptr, nullptr)),
           multiplier_.scratch(dense_weights_gradient(shape_of_chunk, nullptr, nullptr, nullptr)),
           multiplier_.scratch(adding_weights_gradient(shape_of_chunk, nullptr, nullptr, nullptr)),
           multiplier_.scratch(dense_input_gradient(shape_of_chunk, nullptr, nullptr, nullptr))});
    }
  }

  std::int64_t scratch_size() const override { return logits_size_ + s_.dense.outputs + product_scratch_; }

  void forward(const DenseLossForward& call) override {
    LossSum sum;
    for (std::int64_t begin = 0; begin < s_.dense.samples; begin += chunk_.samples) {
      DenseShape shape = chunk_;
      shape.samples = std::min(chunk_.samples, s_.dense.samples - begin);
      run_chunk(call, shape, begin, sum);
    }
    pass_.loss() = sum;
  }

 private:
  DenseShape last_chunk() const {
    DenseShape last = chunk_;
    last.samples = (s_.dense.samples - 1) % chunk_.samples + 1;
    return last;
  }
  static cpu::Product adding_weights_gradient(const DenseShape& shape, const float* input, const float* d_output,
                                              float* d_weights) {
    cpu::Product product = dense_weights_gradient(shape, input, d_output, d_weights);
    product.accumulate = true;
    return product;
  }

  void run_chunk(const DenseLossForward& call, const DenseShape& shape, std::int64_t begin, LossSum& sum) {
    float* const logits = call.scratch.data();
    float* const product_scratch = logits + logits_size_ + s_.dense.outputs;
    const float* const input = call.input.data() + begin * shape.inputs;
    multiplier_.run(dense_output(shape, input, call.weights.data(), array<float>(call.bias), logits), product_scratch,
                    "output layer");
    const auto totals = cpu::token_cross_entropy(
        logits, pass_.inputs->batch.labels.data() + begin, shape.samples, shape.outputs,
        {pass_.inputs->loss_factor, shape.training ? s_.smoothing : 0}, shape.training ? logits : nullptr);
    sum.loss_sum += totals.loss;
    sum.correct += totals.correct;
    if (!shape.training) return;
    const auto weights_gradient = begin == 0 ? dense_weights_gradient : adding_weights_gradient;
    multiplier_.run(weights_gradient(shape, input, logits, call.d_weights.data()), product_scratch,
                    "gradient of the output layer's weights");
    if (!call.d_bias.empty()) add_bias_gradient(call, shape, begin > 0);
    if (call.d_input.empty()) return;
    multiplier_.run(
        dense_input_gradient(shape, logits, call.weights.data(), call.d_input.data() + begin * shape.inputs),
        product_scratch, "gradient of the output layer's input");
  }

  void add_bias_gradient(const DenseLossForward& call, const DenseShape& shape, bool adds) const {
    float *const logits = call.scratch.data(), *const sums = logits + logits_size_, *const d_bias = call.d_bias.data();
    cpu::add_bias_gradient(nullptr, logits, adds ? sums : d_bias, shape.samples, shape.outputs);
    if (adds) cpu::add(d_bias, sums, d_bias, shape.outputs);
  }

  Multiplier multiplier_;
  CpuPass& pass_;
  DenseLossShape s_;
  DenseShape chunk_;
  std::int64_t logits_size_ = 0, product_scratch_ = 0;
};

}  // namespace

std::unique_ptr<DenseLossShape::Plan> make_cpu_plan(CpuContext& context, const DenseLossShape& shape) {
  return std::make_unique<CpuDenseLoss>(context, shape);
}

}  // namespace eave
