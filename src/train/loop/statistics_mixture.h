// Batch-norm statistics of several parts of a set of samples, merged into those of the set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/model.h"

namespace eave {

// Merges means and variances of parts of a set of samples, by the law of total variance.
class StatisticsMixture {
 public:
  // `tensors`: pairs of means and variances, whose values lie in vectors of `size` values. They outlive this object.
  StatisticsMixture(const std::vector<TensorInfo>& tensors, std::size_t size) : tensors_(tensors), sums_(size + 1) {
    const std::int64_t end = tensors.empty() ? 0 : tensors.back().offset + tensors.back().size;
    EAVE_CHECK(end <= static_cast<std::int64_t>(size), "the tensors lie within the vector");
  }

  // `weight`: the part's share in the whole, such as its number of samples.
  void add(ConstSlice statistics, double weight) {
    for (std::size_t pair = 0; pair + 1 < tensors_.size(); pair += 2) {
      for (std::int64_t i = 0; i < tensors_[pair].size; ++i) {
        const double mean = statistics[place(pair, i)];
        sums_[place(pair, i)] += weight * mean;
        sums_[place(pair + 1, i)] += weight * (statistics[place(pair + 1, i)] + mean * mean);
      }
    }
    sums_.back() += weight;
  }

  // Collective; call once. Merges the parts of all ranks.
  std::vector<float> merge(Transport& transport) {
    sums_ = sum_over_ranks(transport, sums_);
    return merged();
  }

  // Merges the parts that were added. Merged variances are biased if those of the parts are.
  std::vector<float> merged() const {
    const double whole = sums_.back();
    std::vector<float> merged(sums_.size() - 1);
    for (std::size_t pair = 0; pair + 1 < tensors_.size(); pair += 2) {
      for (std::int64_t i = 0; i < tensors_[pair].size; ++i) {
        const double mean = sums_[place(pair, i)] / whole;
        merged[place(pair, i)] = static_cast<float>(mean);
        merged[place(pair + 1, i)] = static_cast<float>(std::max(0.0, sums_[place(pair + 1, i)] / whole - mean * mean));
      }
    }
    return merged;
  }

  // Call after merge, if weights are numbers of samples. Makes each variance one divided by N - 1 instead of N, where N
  // is the number of its rows.
  void unbias(std::vector<float>& merged, const std::vector<std::int64_t>& rows_per_sample) const {
    for (std::size_t norm = 0; norm < rows_per_sample.size(); ++norm) {
      const double rows = sums_.back() * static_cast<double>(rows_per_sample[norm]);
      const double factor = rows / std::max(rows - 1, 1.0);
      for (std::int64_t i = 0; i < tensors_[2 * norm + 1].size; ++i) {
        float& variance = merged[place(2 * norm + 1, i)];
        variance = static_cast<float>(variance * factor);
      }
    }
  }

 private:
  std::size_t place(std::size_t tensor, std::int64_t i) const {
    return static_cast<std::size_t>(tensors_[tensor].offset + i);
  }

  const std::vector<TensorInfo>& tensors_;
  // Weighted sums of means, and of variances plus squared means. The last value is the sum of the weights.
  std::vector<double> sums_;
};

}  // namespace eave
