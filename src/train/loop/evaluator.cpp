// Evaluates the consensus, and the workers, on the test set: `evaluate` of eave/trainer.h.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/options/number_text.h"
#include "communicator/support/plugin_checks.h"
#include "eave/agreement.h"
#include "eave/trainer.h"
#include "guard/rank_progress.h"
#include "train/loop/budget.h"
#include "train/loop/consensus_average.h"

namespace eave {
namespace {

Score score_part(const TrainingParts& parts, const TrainingPlan& plan, const Dataset& data, ConstSlice parameters,
                 ConstSlice statistics, std::int64_t first, std::int64_t last) {
  Score total;
  for_each_evaluation_batch(parts.data, data, parts.augmentation, first, last, plan.evaluation_batch,
                            [&](const Batch& batch) {
                              if (parts.rank_progress) parts.rank_progress->move();
                              const Score score = parts.replica.model.evaluate(batch, parameters, statistics);
                              total.loss_sum += score.loss_sum;
                              total.correct += score.correct;
                              total.samples += score.samples;
                            });
  return total;
}

bool is_text(const TrainingParts& parts) { return parts.data.test->tokens() != nullptr; }

// From the sums over `labels` labels.
ModelScore divide(const TrainingParts& parts, double loss_sum, double correct, double labels) {
  const double loss = loss_sum / labels;
  return {loss, is_text(parts) ? perplexity_of(loss) : correct / labels};
}

// Ranks that only serve take part in every exchange of this file, with no data.
std::int64_t workers_of(const TrainingParts& parts) { return parts.sampler.ranks(); }
bool is_worker(const TrainingParts& parts) { return parts.transport.rank() < workers_of(parts); }

// Scores a model that all ranks hold: each worker takes its part of the data. `statistics` are in the host's memory.
ModelScore score_together(const TrainingParts& parts, const TrainingPlan& plan, const Dataset& data,
                          ConstSlice parameters, ConstSlice statistics) {
  const std::int64_t size = data.size();
  const std::int64_t rank = parts.transport.rank(), workers = workers_of(parts);
  Replica& replica = parts.replica;
  replica.device.write(replica.other_statistics.slice(), statistics);
  const Score mine = is_worker(parts) ? score_part(parts, plan, data, parameters, replica.other_statistics.slice(),
                                                   size * rank / workers, size * (rank + 1) / workers)
                                      : Score();
  const std::vector<double> sum = sum_over_ranks(
      parts.transport, {mine.loss_sum, static_cast<double>(mine.correct), static_cast<double>(mine.samples)});
  return divide(parts, sum[0], sum[1], sum[2]);
}

// From each worker's loss sum, correct answers, number of labels and goodness: the first two of rank 0 and of the best
// worker, which worker it is, and the labels, which are as many for all.
std::vector<double> first_and_best(const Rows& rows) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < rows.size() && !rows[i].empty(); ++i) {
    if (rows[i][3] > rows[best][3]) best = i;
  }
  return {rows[0][0], rows[0][1], rows[best][0], rows[best][1], static_cast<double>(best), rows[0][2]};
}

// Scores each worker on the whole test set.
void score_each(const TrainingParts& parts, const TrainingPlan& plan, WorkerScores& workers) {
  std::vector<double> mine;
  if (is_worker(parts)) {
    const Score score = score_part(parts, plan, *parts.data.test, parts.replica.parameters.slice(),
                                   parts.replica.statistics.slice(), 0, parts.data.test->size());
    const auto correct = static_cast<double>(score.correct), labels = static_cast<double>(score.samples);
    const double goodness = is_text(parts) ? -perplexity_of(score.loss_sum / labels) : correct;
    mine = {score.loss_sum, correct, labels, goodness};
  }
  const std::vector<double> scores = combine_over_ranks(parts.transport, mine, first_and_best);
  workers.first = divide(parts, scores[0], scores[1], scores[5]);
  workers.best = divide(parts, scores[2], scores[3], scores[5]);
  workers.best_rank = static_cast<int>(scores[4]);
}

ModelScore score_mean(const TrainingParts& parts, const TrainingPlan& plan, ConstSlice statistics, bool is_center) {
  const Slice mean = parts.replica.gradients.slice();
  Device& device = parts.replica.device;
  if (is_worker(parts)) {
    device.copy(mean, parts.replica.parameters.slice());
  } else {
    device.fill(mean, 0);
  }
  parts.transport.all_reduce_sum(mean).wait();
  device.scale(mean, 1.0f / static_cast<float>(workers_of(parts)));
  // Only recomputed statistics depend on the parameters, so only then does the mean need its own.
  const bool has_its_own = plan.statistics == NormStatistics::kRecompute && !is_center;
  return score_together(parts, plan, *parts.data.test, mean,
                        has_its_own ? statistics_for(parts, plan, mean) : statistics);
}

// If no worker differs from the center, each worker's score is the center's.
WorkerScores score_workers(const TrainingParts& parts, const TrainingPlan& plan, ConstSlice statistics,
                           const EvaluationRecord& record) {
  WorkerScores workers{record.center, record.center, record.center};
  const bool are_center = !parts.traits.has_center && record.distance_max == 0;
  if (are_center && statistics.empty()) return workers;
  workers.mean = score_mean(parts, plan, statistics, are_center);
  score_each(parts, plan, workers);
  return workers;
}

// Bits per byte of a text: loss / ln 2 times tokens per byte (Gao et al., The Pile, 2020, section 3.1). With tokens
// that are bytes it is loss / ln 2. Nothing if the bytes are not known.
std::optional<double> bits_per_byte(const DataSplit& data, double loss) {
  if (data.test->tokens() == nullptr || data.test_bytes == 0 || !std::isfinite(loss)) return std::nullopt;
  const auto tokens = static_cast<double>(data.test->tokens()->labels() + 1);  // the first token is no label
  return loss / std::numbers::ln2 * tokens / static_cast<double>(data.test_bytes);
}

// Returns the smallest, the largest and the mean of all values.
std::vector<double> range_of(const Rows& rows) {
  std::vector<double> all;
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  return {std::ranges::min(all), std::ranges::max(all), mean_of(all)};
}

void measure_distance(const TrainingParts& parts, ConstSlice center, EvaluationRecord& record) {
  std::vector<double> mine;
  const double size = parts.replica.device.norm(center);
  // A library's relu may turn NaN into 0, so the loss alone does not show a NaN among the parameters.
  if (!std::isfinite(size)) record.center.loss = std::numeric_limits<double>::quiet_NaN();
  if (is_worker(parts))
    mine.push_back(parts.replica.device.distance(parts.replica.parameters.slice(), center) / (size > 0 ? size : 1));
  const std::vector<double> distances = combine_over_ranks(parts.transport, mine, range_of);
  record.distance_min = distances[0];
  record.distance_max = distances[1];
  record.distance_mean = distances[2];
}

[[noreturn]] void refuse_different_replicas(const TrainingPlan& plan) {
  if (plan.plugin.empty())
    throw AgreedError(ExitCode::kInternal,
                      "the replicas differ, and this method keeps them equal; report this, with the command");
  throw AgreedError(ExitCode::kInternal,
                    as_fault(plan.plugin,
                             "the replicas differ from its consensus, and they are equal according to "
                             "CommunicatorTraits::averages_gradients"));
}

}  // namespace

Metric metric_of(const DataSplit& data) {
  return data.test->tokens() != nullptr ? Metric{"perplexity", true} : Metric();
}

double perplexity_of(double loss) {
  constexpr double kMost = 1e38;
  return std::isfinite(loss) ? std::min(std::exp(loss), kMost) : kMost;
}

EvaluationRecord evaluate(const TrainingParts& parts, const TrainingPlan& plan, bool is_last) {
  const auto start = std::chrono::steady_clock::now();
  EvaluationRecord record;
  record.metric = metric_of(parts.data);
  const ConstSlice center = parts.communicator.consensus();
  if (!plan.plugin.empty()) {
    const int workers = static_cast<int>(workers_of(parts));
    require_same_consensus(parts.transport, parts.replica.device, center, workers, plan.plugin);
  }
  const std::vector<float> statistics = statistics_for_consensus(parts, plan);
  record.center = score_together(parts, plan, *parts.data.test, center, statistics);
  if (parts.data.validation)
    record.validation = score_together(parts, plan, *parts.data.validation, center, statistics);
  if (parts.average != nullptr) {
    const ConstSlice average = parts.average->values();
    const bool has_its_own = plan.statistics == NormStatistics::kRecompute;
    record.ema = score_together(parts, plan, *parts.data.test, average,
                                has_its_own ? statistics_for(parts, plan, average) : statistics);
  }
  measure_distance(parts, center, record);
  if (parts.traits.averages_gradients && record.distance_max != 0) refuse_different_replicas(plan);
  if (plan.evaluates_workers || is_last || is_good_enough(plan, record.center.accuracy, record.center.loss))
    record.workers = score_workers(parts, plan, statistics, record);
  record.bits_per_byte = bits_per_byte(parts.data, record.center.loss);
  record.evaluation_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

}  // namespace eave
