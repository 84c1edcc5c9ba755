#include "communicator/support/mean_exchange.h"

namespace eave {

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

void MeanExchange::append_state(std::vector<Slice>& state) {
  if (feedback_) state.push_back(agreed_.slice());
  feedback_.append_state(state);
}

std::string MeanExchange::describe() const {
  const std::string line = feedback_.describe("(n_i / n) (x_i - b)");
  return line.empty() ? line : line + ";\nx_i <- b + Q(s) in place of the mean, b being where all went on from last";
}

}  // namespace eave
