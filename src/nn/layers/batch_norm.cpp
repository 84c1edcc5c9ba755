// Batch normalisation (Ioffe and Szegedy 2015). The layer absorbs a residual sum and a relu that follow it, so that all
// are one operation.
#include <algorithm>

#include "nn/layer.h"

namespace eave {
namespace {

class BatchNormPlan final : public LayerPlan {
 public:
  BatchNormPlan(Compute& compute, const BatchNormShape& shape, const std::vector<TensorInfo>& parameters,
                const std::vector<TensorInfo>& statistics)
      : compute_(compute),
        shape_(shape),
        scale_(parameters[0]),
        shift_(parameters[1]),
        mean_(statistics[0]),
        variance_(statistics[1]) {}

  std::int64_t saved_size() const override { return 2 * shape_.channels; }
  bool goes_back_in_place() const override { return compute_.norms_in_place() && !shape_.has_skip; }
  void forward(const ForwardCall& call) override {
    const ConstSlice scale = part(call.parameters, scale_);
    const ConstSlice shift = part(call.parameters, shift_);
    if (call.training) {
      BatchNormForward forward{call.input, call.skip, scale, shift, call.output, call.saved, {}, {}, {}};
      forward.running_mean = part(call.moving_statistics, mean_);
      forward.running_variance = part(call.moving_statistics, variance_);
      forward.ranks = call.ranks;
      forward.rows_of_ranks = &rows_of_ranks_;
      compute_.batch_norm_forward(shape_, forward);
    } else if (!call.measured_statistics.empty()) {
      BatchNormForward forward{call.input, call.skip, scale, shift, call.output, call.saved, {}, {}, {}};
      forward.variance = part(call.measured_statistics, variance_);
      compute_.batch_norm_forward(shape_, forward);
      compute_.copy(call.saved.first(static_cast<std::size_t>(shape_.channels)), part(call.measured_statistics, mean_));
    } else {
      compute_.batch_norm_evaluate(shape_, {call.input, call.skip, scale, shift, part(call.statistics, mean_),
                                            part(call.statistics, variance_), call.output});
    }
  }
  void backward(const BackwardCall& call) override {
    compute_.batch_norm_backward(
        shape_, {call.input, call.output, part(call.parameters, scale_), part(call.parameters, shift_), call.saved,
                 call.d_output, call.d_more, call.d_input, part(call.d_parameters, scale_),
                 part(call.d_parameters, shift_), call.ranks, rows_of_ranks_});
  }

 private:
  Compute& compute_;
  BatchNormShape shape_;
  TensorInfo scale_, shift_, mean_, variance_;
  double rows_of_ranks_ = 0;  // rows (samples times pixels) of all ranks in the last forward pass
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
    const BatchNormShape shape{use.samples * shape_.height * shape_.width, shape_.channels, relu_, sum_};
    return std::make_unique<BatchNormPlan>(compute, shape, parameters_, statistics_);
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

LayerKind describe_layer_batch_norm() { return {"batch_norm", "bn", "batch_norm", make_batch_norm}; }

}  // namespace eave
