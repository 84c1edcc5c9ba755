// Statistics of a whole dataset: mean and standard deviation of each channel, for pixels scaled to [0, 1], and the
// number of samples of each class.
#pragma once

#include <cmath>
#include <vector>

#include "eave/dataset.h"

namespace eave {

struct Moments {
  std::vector<double> mean;
  std::vector<double> deviation;
};

inline Moments moments_of(const Dataset& dataset) {
  const auto channels = static_cast<std::size_t>(dataset.shape().channels);
  std::vector<std::uint64_t> sum(channels), squares(channels);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(dataset.shape().size()));
  for (std::int64_t index = 0; index < dataset.size(); ++index) {
    dataset.read(index, pixels);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      sum[i % channels] += pixels[i];
      squares[i % channels] += std::uint64_t{pixels[i]} * pixels[i];
    }
  }
  Moments moments;
  const double count = static_cast<double>(dataset.size()) * static_cast<double>(pixels.size() / channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const double mean = static_cast<double>(sum[channel]) / count;
    moments.mean.push_back(mean / 255);
    moments.deviation.push_back(std::sqrt(static_cast<double>(squares[channel]) / count - mean * mean) / 255);
  }
  return moments;
}

inline std::vector<std::int64_t> class_counts(const Dataset& dataset) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(dataset.classes()));
  for (std::int64_t index = 0; index < dataset.size(); ++index) ++count[static_cast<std::size_t>(dataset.label(index))];
  return count;
}

}  // namespace eave
