// The last dense layer and the loss on a GPU. The logits of some rows are in memory at a time. In training they become
// their gradients in place, which at once give the gradients of input and weights.
#include <algorithm>

#include "device/cuda/library_handles.h"
#include "device/cuda/passes/pass_memory.h"
#include "device/cuda/workspace_layout.h"
#include "device/kernel_arguments.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/layers.h"

namespace eave::cuda {
namespace {

using Products = std::shared_ptr<const ProductPlan>;

// Rows that are computed together. Each part but the last one is as large as the first.
struct Part {
  DenseShape shape;
  Products forward, to_weights, to_input;
};

template <class T>
class CudaDenseLoss final : public DenseLossShape::Plan {
 public:
  CudaDenseLoss(const Context& context, const DenseLossShape& shape)
      : context_(context),
        libraries_(LibraryHandles::of(context)),
        s_(shape),
        loss_{s_.dense.samples, s_.dense.outputs, s_.targets, s_.dense.training ? s_.smoothing : 0} {
    const std::int64_t rows = rows_of_part(), all = s_.dense.samples;
    first_ = plan_part(std::min(rows, all), false);
    if (all > rows) {
      if (all >= 2 * rows) middle_ = plan_part(rows, true);
      if (all % rows > 0) last_ = plan_part(all % rows, true);
    }
    lay_out();
  }

  std::int64_t scratch_size() const override { return layout_.floats(); }

  void forward(const DenseLossForward& call) override {
    const std::int64_t rows = first_.shape.samples;
    for (std::int64_t begin = 0; begin < s_.dense.samples; begin += rows) {
      const bool is_whole = begin + rows <= s_.dense.samples;
      run(call, begin == 0 ? first_ : is_whole ? middle_ : last_, begin);
    }
    sum_losses(context_.stream, loss_, piece<double>(call.scratch, losses_), context_.pass->totals());
  }

 private:
  // A multiple of 8, so that each part of the input begins where matrices may begin.
  std::int64_t rows_of_part() const {
    const std::int64_t all = s_.dense.samples,
                       most = std::max<std::int64_t>(8, context_.most_logits / s_.dense.outputs);
    if (all <= most) return all;
    const std::int64_t parts = (all + most - 1) / most;
    return ((all + parts - 1) / parts + 7) / 8 * 8;
  }

  Part plan_part(std::int64_t rows, bool adds) const {
    constexpr bool kHalf = !std::is_same_v<T, float>;
    Part part{s_.dense, nullptr, nullptr, nullptr};
    part.shape.samples = rows;
    part.forward = libraries_.plan(context_, forward_product(part.shape, s_.dense.bias, kHalf));
    if (!s_.dense.training) return part;
    Product to_weights = weights_product(part.shape, kHalf);
    to_weights.adds = adds;
    part.to_weights = libraries_.plan(context_, to_weights);
    if (s_.dense.input_gradient) part.to_input = libraries_.plan(context_, input_product(part.shape, kHalf));
    return part;
  }

  void lay_out() {
    const std::int64_t rows = first_.shape.samples, outputs = s_.dense.outputs;
    logits_ = layout_.add(rows * outputs * std::int64_t{sizeof(T)});
    losses_ = layout_.add(loss_scratch(loss_) * std::int64_t{sizeof(double)});
    std::int64_t shared = 0;  // by the products and the sums of the bias, which run one after another
    for (const Part* part : {&first_, &middle_, &last_}) {
      for (const Products& product : {part->forward, part->to_weights, part->to_input}) {
        if (product) shared = std::max(shared, product->workspace_bytes());
      }
    }
    const bool trains_bias = s_.dense.bias && s_.dense.training;
    if (trains_bias) shared = std::max(shared, bias_scratch(rows, outputs) * std::int64_t{sizeof(double)});
    workspace_ = layout_.add(shared);
    if (trains_bias) bias_sums_ = layout_.add(outputs * std::int64_t{sizeof(float)});
  }

  void multiply(const Products& product, const DenseLossForward& call, const void* a, const void* b, const void* bias,
                void* d) const {
    product->run(libraries_.cublas(), context_.stream, {a, b, bias, d, piece(call.scratch, workspace_)});
  }

  void run(const DenseLossForward& call, const Part& part, std::int64_t begin) const {
    const PassMemory& pass = *context_.pass;
    const bool trains = s_.dense.training;
    const void* const weights = context_.weights(call.weights);
    const T* const input = array<T>(call.input) + begin * s_.dense.inputs;
    T* const logits = piece<T>(call.scratch, logits_);
    multiply(part.forward, call, weights, input, s_.dense.bias ? context_.weights(call.bias) : nullptr, logits);
    softmax_cross_entropy(context_.stream, loss_, begin, begin + part.shape.samples, pass.block(), pass.labels(),
                          static_cast<const T*>(logits), trains ? logits : nullptr,
                          piece<double>(call.scratch, losses_));
    if (!trains) return;
    if (s_.dense.bias) run_bias(call, part, begin > 0);
    const void *first = logits, *second = input;
    if (s_.dense.transposed) std::swap(first, second);
    multiply(part.to_weights, call, first, second, nullptr, call.d_weights.data());
    if (call.d_input.empty()) return;
    multiply(part.to_input, call, weights, logits, nullptr, array<T>(call.d_input) + begin * s_.dense.inputs);
  }

  void run_bias(const DenseLossForward& call, const Part& part, bool adds) const {
    float *const d_bias = call.d_bias.data(), *const sums = piece<float>(call.scratch, bias_sums_);
    const T* const no_relu = nullptr;
    bias_backward(context_.stream, no_relu, piece<T>(call.scratch, logits_), adds ? sums : d_bias, part.shape.samples,
                  s_.dense.outputs, piece<double>(call.scratch, workspace_));
    if (adds)
      add(context_.stream, static_cast<const float*>(d_bias), static_cast<const float*>(sums), d_bias,
          s_.dense.outputs);
  }

  const Context& context_;
  LibraryHandles& libraries_;
  DenseLossShape s_;
  Loss loss_;
  Part first_, middle_, last_;
  WorkspaceLayout layout_;
  std::int64_t logits_ = 0, losses_ = 0, workspace_ = 0, bias_sums_ = 0;
};

}  // namespace

std::unique_ptr<DenseLossShape::Plan> make_plan(const Context& context, const DenseLossShape& shape) {
  if (context.precision == Precision::kBf16) return std::make_unique<CudaDenseLoss<Half>>(context, shape);
  return std::make_unique<CudaDenseLoss<float>>(context, shape);
}

}  // namespace eave::cuda
