// Batch normalisation (Ioffe and Szegedy 2015). The layer absorbs a residual sum and a relu that follow it, so that all
// are one operation.
#include <algorithm>

#include "eave/check.h"
#include "nn/operation_layer.h"

namespace eave {
namespace {

// The places of a batch norm's values in its layer's slices.
struct BatchNormTensors {
  TensorInfo scale, shift, mean, variance;
};

// The layer in training. It also measures statistics for an evaluation.
class BatchNormPlan final : public OperationLayerPlan<BatchNormShape::Plan> {
 public:
  BatchNormPlan(Compute& compute, const BatchNormShape& shape, const BatchNormTensors& tensors)
      : OperationLayerPlan(compute.plan(shape)), compute_(compute), channels_(shape.channels), tensors_(tensors) {}

  void forward(const ForwardCall& call) override {
    BatchNormForward forward{call.input,
                             call.skip,
                             part(call.parameters, tensors_.scale),
                             part(call.parameters, tensors_.shift),
                             call.output,
                             call.saved,
                             call.scratch,
                             {},
                             {},
                             {}};
    if (call.training) {
      forward.running_mean = part(call.moving_statistics, tensors_.mean);
      forward.running_variance = part(call.moving_statistics, tensors_.variance);
      forward.ranks = call.ranks;
      forward.rows_of_ranks = &rows_of_ranks_;
      return plan_->forward(forward);
    }
    forward.variance = part(call.measured_statistics, tensors_.variance);
    plan_->forward(forward);
    compute_.copy(call.saved.first(static_cast<std::size_t>(channels_)), part(call.measured_statistics, tensors_.mean));
  }
  void backward(const BackwardCall& call) override {
    plan_->backward({call.input, call.output, part(call.parameters, tensors_.scale),
                     part(call.parameters, tensors_.shift), call.saved, call.d_output, call.d_more, call.d_input,
                     part(call.d_parameters, tensors_.scale), part(call.d_parameters, tensors_.shift), call.scratch,
                     call.ranks, rows_of_ranks_});
  }

 private:
  Compute& compute_;
  std::int64_t channels_;
  BatchNormTensors tensors_;
  double rows_of_ranks_ = 0;  // rows (samples times pixels) of all ranks in the last forward pass
};

// The layer in evaluation.
class FixedNormPlan final : public OperationLayerPlan<FixedNormShape::Plan> {
 public:
  FixedNormPlan(Compute& compute, const FixedNormShape& shape, const BatchNormTensors& tensors)
      : OperationLayerPlan(compute.plan(shape)), tensors_(tensors) {}
  void forward(const ForwardCall& call) override {
    plan_->forward({call.input, call.skip, part(call.parameters, tensors_.scale), part(call.parameters, tensors_.shift),
                    part(call.statistics, tensors_.mean), part(call.statistics, tensors_.variance), call.output,
                    call.scratch});
  }
  void backward(const BackwardCall&) override { EAVE_CHECK(false, "evaluation has no backward pass"); }

 private:
  BatchNormTensors tensors_;
};

class BatchNorm final : public Layer {
 public:
  explicit BatchNorm(ImageShape shape)
      : shape_(shape),
        parameters_{make_tensor("scale", {shape.channels}), make_tensor("shift", {shape.channels})},
        statistics_{make_tensor("mean", {shape.channels}), make_tensor("variance", {shape.channels})} {
    lay_out(parameters_);
    lay_out(statistics_);
  }

  std::string describe() const override {
    return std::string("batch_norm") + (sum_ ? ", add skip" : "") + (relu_ ? ", relu" : "");
  }
  ImageShape output() const override { return shape_; }
  std::vector<TensorInfo> parameters() const override { return parameters_; }
  std::vector<TensorInfo> statistics() const override { return statistics_; }
  void initialise(const RandomKey&, Slice parameters, Slice statistics) const override {
    std::ranges::fill(part(parameters, parameters_[0]), 1.0f);
    std::ranges::fill(part(statistics, statistics_[1]), 1.0f);
  }
  bool absorb(const LayerText& next) override {
    if (relu_) return false;
    if (next.word == "residual" && !sum_) return sum_ = true;
    if (next.word != "relu") return false;
    ArgumentReader(next).finish();
    return relu_ = true;
  }
  bool takes_two_gradients() const override { return true; }
  bool spans_ranks() const override { return true; }
  std::unique_ptr<LayerPlan> plan(Compute& compute, const LayerUse& use) const override {
    const BatchNormTensors tensors{parameters_[0], parameters_[1], statistics_[0], statistics_[1]};
    const std::int64_t rows = use.samples * shape_.height * shape_.width, channels = shape_.channels;
    if (!use.training) return std::make_unique<FixedNormPlan>(compute, FixedNormShape{rows, channels, relu_}, tensors);
    return std::make_unique<BatchNormPlan>(compute, BatchNormShape{rows, channels, relu_, sum_}, tensors);
  }

 private:
  ImageShape shape_;
  bool relu_ = false;
  bool sum_ = false;
  std::vector<TensorInfo> parameters_, statistics_;
};

std::unique_ptr<Layer> make_batch_norm(const LayerContext& context) {
  ArgumentReader(context.text).finish();
  return std::make_unique<BatchNorm>(context.input);
}

}  // namespace

LayerKind describe_layer_batch_norm() { return {"batch_norm", "bn", "batch_norm", make_batch_norm, true}; }

}  // namespace eave
