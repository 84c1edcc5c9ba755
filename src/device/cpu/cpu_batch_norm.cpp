// Batch norm on the CPU, also over the rows of all ranks.
#include <algorithm>
#include <cmath>
#include <vector>

#include "device/cpu/cpu_plans.h"
#include "device/kernel_plan.h"
#include "kernels/cpu/batch_norm.h"

namespace eave {
namespace {

// Merges the mean and the biased variance of each of p ranks, with n_i rows on rank i, into those of all rows (Chan,
// Golub and LeVeque 1979):
//
//     n = sum n_i;   mean = sum n_i mean_i / n;   variance = sum n_i (variance_i + (mean_i - mean)^2) / n
//
// Sums are in double and in rank order. So nothing cancels if means are much larger than deviations, and all ranks get
// the same bits.
class RankMoments {
 public:
  explicit RankMoments(std::size_t channels) { mine_.reserve(2 * channels + 1); }

  // Collective. On entry, `mean` and `variance` hold this rank's values (with 0 rows, anything); on return, those of
  // all ranks together. Returns n. A rank whose moments are not finite does not count. If no rank counts, n is 0 and
  // all values are NaN.
  double merge(MomentExchange& ranks, std::int64_t rows, Slice mean, Slice variance);

  // Collective. Returns the sums of each value over all ranks: first those of `d_scale`, then those of `d_shift`. If
  // one of this rank's values is not finite, none of them count. The result is valid until the next call.
  ConstSlice sum(MomentExchange& ranks, ConstSlice d_scale, ConstSlice d_shift);

 private:
  std::vector<float> mine_;
};

bool are_finite(ConstSlice values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

// A rank's message holds its means, its variances and its number of rows.
double RankMoments::merge(MomentExchange& ranks, std::int64_t rows, Slice mean, Slice variance) {
  const std::size_t channels = mean.size(), length = 2 * channels + 1;
  mine_.assign(length, 0);
  if (rows > 0 && are_finite(mean) && are_finite(variance)) {
    std::ranges::copy(mean, mine_.begin());
    std::ranges::copy(variance, mine_.begin() + static_cast<std::ptrdiff_t>(channels));
    mine_.back() = static_cast<float>(rows);
  }
  const ConstSlice all = ranks.gather(mine_);
  double count = 0;
  for (std::size_t at = 0; at < all.size(); at += length) count += double{all[at + length - 1]};
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0, square = 0;
    for (std::size_t at = 0; at < all.size(); at += length) sum += double{all[at + length - 1]} * double{all[at + c]};
    const double merged = sum / count;
    for (std::size_t at = 0; at < all.size(); at += length) {
      const double away = double{all[at + c]} - merged;
      square += double{all[at + length - 1]} * (double{all[at + channels + c]} + away * away);
    }
    mean[c] = static_cast<float>(merged);
    variance[c] = static_cast<float>(square / count);
  }
  return count;
}

ConstSlice RankMoments::sum(MomentExchange& ranks, ConstSlice d_scale, ConstSlice d_shift) {
  mine_.assign(d_scale.size() + d_shift.size(), 0);
  if (are_finite(d_scale) && are_finite(d_shift)) {
    std::ranges::copy(d_shift, std::ranges::copy(d_scale, mine_.begin()).out);
  }
  ranks.sum(mine_);
  return mine_;
}

class CpuBatchNorm final : public BatchNormShape::Plan {
 public:
  explicit CpuBatchNorm(const BatchNormShape& shape)
      : shape_(shape),
        channels_(static_cast<std::size_t>(shape.channels)),
        sums_(2 * channels_),
        a_(channels_),
        b_(channels_),
        c_(channels_),
        factor_(channels_),
        offset_(channels_),
        rank_moments_(channels_) {}

  std::int64_t saved_size() const override { return 2 * shape_.channels; }
  bool goes_back_in_place() const override { return !shape_.has_skip; }
  void forward(const BatchNormForward& call) override;
  void backward(const BatchNormBackward& call) override;

 private:
  cpu::ChannelSums sums() { return {sums_.data(), sums_.data() + channels_}; }
  void move_averages(const BatchNormForward& call, ConstSlice mean, ConstSlice variance, float rows);
  cpu::NormGradientSums sum_gradients(const BatchNormBackward& call);

  const BatchNormShape shape_;
  const std::size_t channels_;
  // Scratch, per channel.
  std::vector<double> sums_;
  std::vector<float> a_, b_, c_, factor_, offset_;
  RankMoments rank_moments_;
};

void CpuBatchNorm::forward(const BatchNormForward& call) {
  const Slice mean = call.saved.first(channels_), inverse_deviation = call.saved.subspan(channels_, channels_);
  const Slice variance = c_;
  if (shape_.rows > 0) {
    cpu::channel_moments(call.input.data(), shape_.rows, shape_.channels, sums(), mean.data(), variance.data());
  }
  auto rows = static_cast<float>(shape_.rows);
  if (call.ranks != nullptr) {
    *call.rows_of_ranks = rank_moments_.merge(*call.ranks, shape_.rows, mean, variance);
    rows = static_cast<float>(*call.rows_of_ranks);
  }
  for (std::size_t i = 0; i < channels_; ++i) {
    inverse_deviation[i] = 1.0f / std::sqrt(variance[i] + kBatchNormEpsilon);
    a_[i] = call.scale[i] * inverse_deviation[i];
    b_[i] = call.shift[i] - mean[i] * a_[i];
  }
  move_averages(call, mean, variance, rows);
  std::copy_n(variance.data(), call.variance.size(), call.variance.data());
  cpu::normalise(call.input.data(), array<float>(call.skip), a_.data(), b_.data(), shape_.relu, shape_.rows,
                 shape_.channels, call.output.data());
}

void CpuBatchNorm::move_averages(const BatchNormForward& call, ConstSlice mean, ConstSlice variance, float rows) {
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
}

// Writes this rank's d_scale and d_shift.
cpu::NormGradientSums CpuBatchNorm::sum_gradients(const BatchNormBackward& call) {
  const ConstSlice mean = call.saved.first(channels_), inverse_deviation = call.saved.subspan(channels_, channels_);
  cpu::NormGradientSums passes{call.input.data(), nullptr, array<float>(call.d_more), mean.data(),
                               inverse_deviation.data()};
  if (shape_.relu && shape_.has_skip) {
    passes.output = call.output.data();
  } else if (shape_.relu) {  // the same operations as in forward, so relu's mask is equal bit for bit
    for (std::size_t i = 0; i < channels_; ++i) {
      factor_[i] = call.scale[i] * inverse_deviation[i];
      offset_[i] = call.shift[i] - mean[i] * factor_[i];
    }
    passes.factor = factor_.data();
    passes.offset = offset_.data();
  }
  if (shape_.rows > 0) {
    cpu::norm_gradient_sums(passes, shape_.rows, shape_.channels, sums(), call.d_output.data(), call.d_scale.data(),
                            call.d_shift.data());
  } else {
    std::ranges::fill(call.d_scale, 0.0f);
    std::ranges::fill(call.d_shift, 0.0f);
  }
  return passes;
}

void CpuBatchNorm::backward(const BatchNormBackward& call) {
  const ConstSlice mean = call.saved.first(channels_), inverse_deviation = call.saved.subspan(channels_, channels_);
  const cpu::NormGradientSums summed = sum_gradients(call);
  ConstSlice d_scale = call.d_scale, d_shift = call.d_shift;
  auto rows = static_cast<float>(shape_.rows);
  if (call.ranks != nullptr) {
    const ConstSlice of_all = rank_moments_.sum(*call.ranks, d_scale, d_shift);
    d_scale = of_all.first(channels_);
    d_shift = of_all.subspan(channels_);
    rows = static_cast<float>(call.rows_of_ranks);
  }
  if (call.d_input.empty()) return;
  // dx = γ/σ · (d − mean(d) − x̂ · mean(d·x̂)), written as a·d + b·x + c.
  const float share = 1.0f / rows;
  for (std::size_t i = 0; i < channels_; ++i) {
    const float a = call.scale[i] * inverse_deviation[i];
    const float b = -a * inverse_deviation[i] * d_scale[i] * share;
    a_[i] = a;
    b_[i] = b;
    c_[i] = -a * d_shift[i] * share - b * mean[i];
  }
  cpu::NormInputGradient gradient{call.d_output.data(), call.input.data(), a_.data(), b_.data(), c_.data()};
  // With d_more, norm_gradient_sums has already set d_output to 0 where relu passes nothing.
  if (call.d_more.empty()) {
    gradient.factor = summed.factor;
    gradient.offset = summed.offset;
  }
  cpu::norm_input_gradient(gradient, shape_.rows, shape_.channels, call.d_input.data());
}

}  // namespace

std::unique_ptr<BatchNormShape::Plan> make_cpu_plan(CpuContext&, const BatchNormShape& shape) {
  return std::make_unique<CpuBatchNorm>(shape);
}

std::unique_ptr<FixedNormShape::Plan> make_cpu_plan(CpuContext&, const FixedNormShape& shape) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  return make_plan_of<FixedNormForward>([=, factor = std::vector<float>(channels),
                                         offset = std::vector<float>(channels)](const FixedNormForward& call) mutable {
    for (std::size_t i = 0; i < channels; ++i) {
      factor[i] = call.scale[i] / std::sqrt(call.variance[i] + kBatchNormEpsilon);
      offset[i] = call.shift[i] - call.mean[i] * factor[i];
    }
    cpu::normalise(call.input.data(), array<float>(call.skip), factor.data(), offset.data(), shape.relu, shape.rows,
                   shape.channels, call.output.data());
  });
}

}  // namespace eave
