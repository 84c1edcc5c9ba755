// Batch-norm statistics of a model that no worker trains: the center, or the mean of the workers.
#include <algorithm>
#include <vector>

#include "eave/agreement.h"
#include "eave/check.h"
#include "eave/trainer.h"

namespace eave {
namespace {

// Merges means and variances of parts of a set of samples, by the law of total variance.
class Mixture {
 public:
  explicit Mixture(const Model& model)
      : tensors_(model.statistics()), sums_(static_cast<std::size_t>(model.statistics_size()) + 1) {}

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

  // Collective; call once. Merges the parts of all ranks. Merged variances are biased if those of the parts are.
  std::vector<float> merge(Transport& transport) {
    sums_ = sum_over_ranks(transport, sums_);
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

std::vector<float> statistics_of_first(const TrainingParts& parts) {
  std::vector<float> statistics(parts.replica.statistics.size());
  parts.replica.device.read(parts.replica.statistics.slice(), statistics);
  parts.transport.broadcast(statistics, 0).wait();
  return statistics;
}

// Measures with a sampler of its own, because the loader's thread uses parts.sampler. Here only the latter's numbers of
// samples may be asked for.
std::vector<float> measure_anew(const TrainingParts& parts, std::int64_t batches, ConstSlice parameters) {
  const std::uint64_t seed = parts.replica.seed;
  Sampler sampler(Sampling::kShard, parts.data.train->size(), 1, parts.sampler.samples(0, 0), seed, {});
  batches = std::min(batches, sampler.steps_per_epoch());
  const std::int64_t workers = parts.sampler.ranks(), rank = std::min<std::int64_t>(parts.transport.rank(), workers);
  const std::int64_t first = batches * rank / workers, last = std::min(batches, batches * (rank + 1) / workers);
  Loader loader(parts.data, sampler, {parts.augmentation, seed, 0, first, last});
  Mixture mixture(parts.replica.model);
  std::vector<float> measured(parts.replica.statistics.size());
  for (std::int64_t i = first; i < last; ++i) {
    const Batch& batch = loader.next();
    parts.replica.model.measure_statistics(batch, parameters, parts.replica.other_statistics.slice());
    parts.replica.device.read(parts.replica.other_statistics.slice(), measured);
    mixture.add(measured, static_cast<double>(batch.samples));
  }
  std::vector<float> statistics = mixture.merge(parts.transport);
  mixture.unbias(statistics, parts.replica.model.rows_per_sample());
  return statistics;
}

}  // namespace

std::vector<float> average_statistics(const Model& model, Transport& transport, ConstSlice mine, double weight) {
  if (model.statistics_size() == 0) return {};
  Mixture mixture(model);
  mixture.add(mine, weight);
  return mixture.merge(transport);
}

std::vector<float> statistics_for_consensus(const TrainingParts& parts, const TrainingPlan& plan) {
  const ConstSlice consensus = parts.communicator.consensus();
  const bool has_own = plan.statistics == NormStatistics::kAverage && parts.communicator.consensus_is_first_worker();
  return has_own && parts.replica.statistics.size() > 0 ? statistics_of_first(parts)
                                                        : statistics_for(parts, plan, consensus);
}

namespace {

std::vector<float> average_of_workers(const TrainingParts& parts) {
  std::vector<float> mine(parts.replica.statistics.size());
  parts.replica.device.read(parts.replica.statistics.slice(), mine);
  return average_statistics(parts.replica.model, parts.transport, mine,
                            parts.transport.rank() < parts.sampler.ranks() ? 1 : 0);
}

}  // namespace

std::vector<float> statistics_for(const TrainingParts& parts, const TrainingPlan& plan, ConstSlice parameters) {
  if (parts.replica.statistics.size() == 0) return {};
  switch (plan.statistics) {
    case NormStatistics::kLocal:
      return statistics_of_first(parts);
    case NormStatistics::kAverage:
      return average_of_workers(parts);
    case NormStatistics::kRecompute:
      return measure_anew(parts, plan.recompute_batches, parameters);
  }
  return {};
}

}  // namespace eave
