// Batch-norm statistics of a model that no worker trains: the center, or the mean of the workers.
#include <algorithm>
#include <vector>

#include "eave/trainer.h"
#include "train/loop/statistics_mixture.h"

namespace eave {
namespace {

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
  std::vector<float> measured(parts.replica.statistics.size());
  StatisticsMixture mixture(parts.replica.model.statistics(), measured.size());
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
  StatisticsMixture mixture(model.statistics(), mine.size());
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
