#include "communicator/support/weighted_mean.h"

#include <algorithm>

#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {

void WeightedMean::count(const Step& step) {
  EAVE_CHECK(step.samples >= 0 && step.samples <= step.samples_everywhere && step.samples_everywhere > 0,
             "a step has samples");
  counts_.set(0, counts_.integer(0) + step.samples);
  counts_.set(1, counts_.integer(1) + step.samples_everywhere);
}

void WeightedMean::reset() {
  counts_.set(0, std::int64_t{0});
  counts_.set(1, std::int64_t{0});
}

void WeightedMean::count_anew() {
  const auto mine = static_cast<double>(samples());
  counts_.set(1, static_cast<std::int64_t>(sum_over_ranks(transport_, {mine})[0]));
}

float WeightedMean::weight() const {
  const auto mine = static_cast<double>(samples()), all = static_cast<double>(counts_.integer(1));
  return static_cast<float>(all > 0 ? mine / all : 1.0 / transport_.size());
}

void WeightedMean::set_updates_behind(std::int64_t updates) {
  constexpr std::int64_t kMost = (std::int64_t{1} << 23) - 1;
  counts_.set(0, samples() + kBehind * std::clamp<std::int64_t>(updates, 0, kMost));
}

double WeightedMean::average(Device& device, Slice values) const {
  device.scale(values, weight());
  return transport_.all_reduce_sum(values).wait();
}

void MeanExchange::begin(Device& device, ConstSlice values) {
  device_ = &device;
  if (!feedback_) return;
  feedback_.begin(values.size());
  agreed_ = device.allocate(values.size());
  agree_on(values);
}

double MeanExchange::average(const WeightedMean& mean, Slice values) {
  if (!feedback_) return mean.average(*device_, values);
  device_->add_scaled(values, -1, agreed_.slice());
  device_->scale(values, mean.weight());
  const double seconds = transport_.all_reduce_sum(values, {}, feedback_.compression()).wait();
  device_->add_scaled(values, 1, agreed_.slice());
  return seconds;
}

void MeanExchange::agree_on(ConstSlice values) {
  if (feedback_) device_->copy(agreed_.slice(), values);
}

double MeanExchange::agree_on_mean(ConstSlice values) {
  if (!feedback_) return 0;
  agree_on(values);
  device_->scale(agreed_.slice(), static_cast<float>(1.0 / transport_.size()));
  return transport_.all_reduce_sum(agreed_.slice()).wait();
}

void MeanExchange::append_agreed(std::vector<Slice>& vectors) {
  if (feedback_) vectors.push_back(agreed_.slice());
}

void MeanExchange::append_state(std::vector<Slice>& state) {
  append_agreed(state);
  feedback_.append_state(state);
}

std::string MeanExchange::describe() const {
  const std::string line = feedback_.describe("(n_i / n) (x_i - b)");
  return line.empty() ? line : line + ";\nx_i <- b + Q(s) in place of the mean, b being where all went on from last";
}

}  // namespace eave
