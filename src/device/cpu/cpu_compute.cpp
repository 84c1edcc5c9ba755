// The arithmetic of layers on the CPU: eave's kernels and oneDNN.
#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <vector>

#include "device/cpu/cpu_plans.h"
#include "device/geometry.h"
#include "device/sync_batch_norm.h"
#include "eave/check.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/batch_norm.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/layers.h"

namespace eave {
namespace {

const float* address(ConstSlice values) { return values.empty() ? nullptr : values.data(); }
std::int64_t count(ConstSlice values) { return static_cast<std::int64_t>(values.size()); }

// Throws std::bad_alloc if oneDNN is out of memory, as the rest of the program does.
template <class Make>
auto tell_lack_of_memory(Make make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
    throw;
  }
}

class CpuCompute final : public Compute {
 public:
  CpuCompute(int threads, const cpu::WideKernels* kernels) : kernels_(kernels) { prepare_compute_thread(threads); }

  Device& device() override { return cpu_device(); }
  std::int64_t activation_size(std::int64_t values) const override { return values; }
  std::int64_t smallest_part() const override { return 0; }
  std::unique_ptr<LinearPlan> plan_dense(const DenseShape& shape) override {
    return tell_lack_of_memory([&] { return make_cpu_dense(kernels_, shape); });
  }
  std::unique_ptr<LinearPlan> plan_convolution(const ConvolutionShape& shape) override {
    return tell_lack_of_memory([&] { return make_cpu_convolution(context_, kernels_, shape); });
  }

  std::unique_ptr<DeviceImages> load_images(
      std::int64_t, const ImagePlacing&, const std::function<void(std::int64_t, std::span<std::uint8_t>)>&) override {
    return nullptr;
  }
  ConstSlice begin_pass(const PassKind&, const PassInputs& inputs) override {
    inputs_ = &inputs.batch;
    seed_ = inputs.seed;
    loss_factor_ = inputs.loss_factor;
    losses_[static_cast<std::size_t>(++ticket_ % kKeptLosses)] = {};
    return inputs.batch.inputs;
  }
  void cut() override {}
  void forget_passes() noexcept override {}
  std::int64_t end_pass() override { return ticket_; }
  bool loss_is_not_finite() const override {
    return !std::isfinite(losses_[static_cast<std::size_t>(ticket_ % kKeptLosses)].loss_sum);
  }
  LossSum loss(std::int64_t ticket) override {
    EAVE_CHECK(ticket <= ticket_ && ticket > ticket_ - kKeptLosses, "the loss of one of the last passes");
    return losses_[static_cast<std::size_t>(ticket % kKeptLosses)];
  }

  bool norms_in_place() const override { return true; }
  void batch_norm_forward(const BatchNormShape& shape, const BatchNormForward& call) override;
  void batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& call) override;
  void batch_norm_evaluate(const BatchNormShape& shape, const BatchNormEvaluation& call) override;

  void max_pool_forward(const PoolShape& shape, ConstSlice input, Slice output, Slice winners) override {
    cpu::max_pool(geometry(shape), input.data(), output.data(),
                  winners.empty() ? nullptr : reinterpret_cast<std::uint8_t*>(winners.data()));
  }
  void max_pool_backward(const PoolShape& shape, ConstSlice winners, ConstSlice d_output, Slice d_input) override {
    cpu::max_pool_gradient(geometry(shape), reinterpret_cast<const std::uint8_t*>(winners.data()), d_output.data(),
                           d_input.data());
  }
  void average_pool_forward(const PoolShape& shape, ConstSlice input, Slice output) override {
    cpu::average_pool(geometry(shape), input.data(), output.data());
  }
  void average_pool_backward(const PoolShape& shape, ConstSlice d_output, Slice d_input) override {
    cpu::average_pool_gradient(geometry(shape), d_output.data(), d_input.data());
  }

  void local_response_norm_forward(const LocalResponseShape& shape, ConstSlice input, Slice output) override {
    cpu::local_response_norm(geometry(shape), input.data(), output.data());
  }
  void local_response_norm_backward(const LocalResponseShape& shape, ConstSlice input, ConstSlice d_output,
                                    Slice d_input) override {
    cpu::local_response_norm_gradient(geometry(shape), input.data(), d_output.data(), d_input.data());
  }

  void activation_forward(const Activation& activation, ConstSlice input, Slice output) override {
    cpu::activation_forward(activation.word, activation.parameter, input.data(), output.data(), count(output));
  }
  void activation_backward(const Activation& activation, ConstSlice input, ConstSlice output, ConstSlice d_output,
                           Slice d_input) override {
    cpu::activation_backward(activation.word, activation.parameter, address(input), address(output), d_output.data(),
                             d_input.data(), count(d_input));
  }
  void dropout_forward(const DropoutShape& shape, ConstSlice input, Slice output) override;
  void dropout_backward(const DropoutShape& shape, ConstSlice d_output, Slice d_input) override {
    dropout_forward(shape, d_output, d_input);  // the gradient has the same pattern and factor
  }
  void shortcut_forward(const ShortcutShape& shape, ConstSlice input, Slice output) override {
    cpu::shortcut(geometry(shape), input.data(), output.data());
  }
  void shortcut_backward(const ShortcutShape& shape, ConstSlice d_output, Slice d_input) override {
    cpu::shortcut_gradient(geometry(shape), d_output.data(), d_input.data());
  }
  void add(ConstSlice a, ConstSlice b, Slice sum) override { cpu::add(a.data(), b.data(), sum.data(), count(sum)); }
  void copy(ConstSlice from, Slice into) override { std::copy_n(from.data(), count(into), into.data()); }
  void fill(Slice values, float value) override { cpu::fill(values.data(), value, count(values)); }

  void softmax_cross_entropy(std::int64_t classes, ConstSlice logits, Slice d_logits) override {
    const auto totals = cpu::softmax_cross_entropy(logits.data(), inputs_->labels.data(), inputs_->samples, classes,
                                                   loss_factor_, d_logits.empty() ? nullptr : d_logits.data());
    losses_[static_cast<std::size_t>(ticket_ % kKeptLosses)] = {totals.loss, totals.correct};
  }

 private:
  // Scratch of one batch norm call, per channel. It grows to the widest layer.
  struct Channels {
    std::vector<double> sums;
    std::vector<float> a, b, c, factor, offset;
    void fit(std::size_t channels);
    cpu::ChannelSums totals(std::size_t channels) { return {sums.data(), sums.data() + channels}; }
  };

  DnnlContext context_;
  const cpu::WideKernels* kernels_;
  Channels channels_;
  RankMoments rank_moments_;
  const Batch* inputs_ = nullptr;  // of the current pass
  std::uint64_t seed_ = 0;
  float loss_factor_ = 0;
  std::int64_t ticket_ = 0;
  std::array<LossSum, kKeptLosses> losses_{};  // of the last kKeptLosses passes, at ticket % kKeptLosses
};

void CpuCompute::Channels::fit(std::size_t channels) {
  if (a.size() >= channels) return;
  sums.resize(2 * channels);
  a.resize(channels);
  b.resize(channels);
  c.resize(channels);
  factor.resize(channels);
  offset.resize(channels);
}

void CpuCompute::batch_norm_forward(const BatchNormShape& shape, const BatchNormForward& call) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  channels_.fit(channels);
  const Slice mean = call.saved.first(channels);
  const Slice inverse_deviation = call.saved.subspan(channels, channels);
  float* variance = channels_.c.data();
  if (shape.rows > 0) {
    cpu::channel_moments(call.input.data(), shape.rows, shape.channels, channels_.totals(channels), mean.data(),
                         variance);
  }
  auto rows = static_cast<float>(shape.rows);
  if (call.ranks != nullptr) {
    *call.rows_of_ranks = rank_moments_.merge(*call.ranks, shape.rows, mean, Slice(variance, channels));
    rows = static_cast<float>(*call.rows_of_ranks);
  }
  for (std::size_t i = 0; i < channels; ++i) {
    inverse_deviation[i] = 1.0f / std::sqrt(variance[i] + kBatchNormEpsilon);
    channels_.a[i] = call.scale[i] * inverse_deviation[i];
    channels_.b[i] = call.shift[i] - mean[i] * channels_.a[i];
  }
  const float unbiased = rows / std::max(rows - 1, 1.0f);
  for (std::size_t i = 0; i < call.running_mean.size(); ++i) {
    const float mean_now = call.running_mean[i] + kBatchNormMomentum * (mean[i] - call.running_mean[i]);
    const float variance_now =
        call.running_variance[i] + kBatchNormMomentum * (variance[i] * unbiased - call.running_variance[i]);
    // If a channel's new averages would not be finite, it keeps the old ones.
    if (!std::isfinite(mean_now) || !std::isfinite(variance_now)) continue;
    call.running_mean[i] = mean_now;
    call.running_variance[i] = variance_now;
  }
  std::copy_n(variance, call.variance.size(), call.variance.data());
  cpu::normalise(call.input.data(), address(call.skip), channels_.a.data(), channels_.b.data(), shape.relu, shape.rows,
                 shape.channels, call.output.data());
}

void CpuCompute::batch_norm_backward(const BatchNormShape& shape, const BatchNormBackward& call) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  channels_.fit(channels);
  const ConstSlice mean = call.saved.first(channels);
  const ConstSlice inverse_deviation = call.saved.subspan(channels, channels);
  cpu::NormGradientSums sums{call.input.data(), nullptr, address(call.d_more), mean.data(), inverse_deviation.data()};
  if (shape.relu && shape.has_skip) {
    sums.output = call.output.data();
  } else if (shape.relu) {  // the same operations as in forward, so relu's mask is equal bit for bit
    for (std::size_t i = 0; i < channels; ++i) {
      channels_.factor[i] = call.scale[i] * inverse_deviation[i];
      channels_.offset[i] = call.shift[i] - mean[i] * channels_.factor[i];
    }
    sums.factor = channels_.factor.data();
    sums.offset = channels_.offset.data();
  }
  if (shape.rows > 0) {
    cpu::norm_gradient_sums(sums, shape.rows, shape.channels, channels_.totals(channels), call.d_output.data(),
                            call.d_scale.data(), call.d_shift.data());
  } else {
    std::ranges::fill(call.d_scale, 0.0f);
    std::ranges::fill(call.d_shift, 0.0f);
  }
  ConstSlice d_scale = call.d_scale, d_shift = call.d_shift;
  auto rows = static_cast<float>(shape.rows);
  if (call.ranks != nullptr) {
    const ConstSlice of_all = rank_moments_.sum(*call.ranks, d_scale, d_shift);
    d_scale = of_all.first(channels);
    d_shift = of_all.subspan(channels);
    rows = static_cast<float>(call.rows_of_ranks);
  }
  if (call.d_input.empty()) return;
  // dx = γ/σ · (d − mean(d) − x̂ · mean(d·x̂)), written as a·d + b·x + c.
  const float share = 1.0f / rows;
  for (std::size_t i = 0; i < channels; ++i) {
    const float a = call.scale[i] * inverse_deviation[i];
    const float b = -a * inverse_deviation[i] * d_scale[i] * share;
    channels_.a[i] = a;
    channels_.b[i] = b;
    channels_.c[i] = -a * d_shift[i] * share - b * mean[i];
  }
  cpu::NormInputGradient gradient{call.d_output.data(), call.input.data(), channels_.a.data(), channels_.b.data(),
                                  channels_.c.data()};
  // With d_more, norm_gradient_sums has already set d_output to 0 where relu passes nothing.
  if (call.d_more.empty()) {
    gradient.factor = sums.factor;
    gradient.offset = sums.offset;
  }
  cpu::norm_input_gradient(gradient, shape.rows, shape.channels, call.d_input.data());
}

void CpuCompute::batch_norm_evaluate(const BatchNormShape& shape, const BatchNormEvaluation& call) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  channels_.fit(channels);
  for (std::size_t i = 0; i < channels; ++i) {
    channels_.a[i] = call.scale[i] / std::sqrt(call.variance[i] + kBatchNormEpsilon);
    channels_.b[i] = call.shift[i] - call.mean[i] * channels_.a[i];
  }
  cpu::normalise(call.input.data(), address(call.skip), channels_.a.data(), channels_.b.data(), shape.relu, shape.rows,
                 shape.channels, call.output.data());
}

void CpuCompute::dropout_forward(const DropoutShape& shape, ConstSlice input, Slice output) {
  const RandomKey key{seed_, Purpose::kDropout, shape.layer};
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    // The step is in the upper half of the counter and the sample's index in the lower: 2^32 of each.
    const auto index = static_cast<std::uint64_t>(inputs_->indices[static_cast<std::size_t>(sample)]);
    const std::uint64_t counter = (static_cast<std::uint64_t>(inputs_->step) << 32) ^ index;
    cpu::dropout(key, counter, shape.rate, shape.size, input.data() + sample * shape.size,
                 output.data() + sample * shape.size);
  }
}

}  // namespace

std::unique_ptr<Compute> make_cpu_compute(int threads) {
  const auto kernels = cpu::wide_kernels();
  // The wide kernels use one thread. With several threads, oneDNN's operations share the work.
  return make_cpu_compute_with(threads, threads > 1 || kernels.empty() ? nullptr : kernels.front());
}

std::unique_ptr<Compute> make_cpu_compute_with(int threads, const cpu::WideKernels* kernels) {
  return std::make_unique<CpuCompute>(threads, kernels);
}

void check_dnnl(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  EAVE_CHECK(status == dnnl_success, std::string("oneDNN, ") + what + ": status " + std::to_string(status));
}

}  // namespace eave
