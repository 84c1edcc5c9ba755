#include "communicator/outer/worker_momentum.h"

#include <algorithm>

#include "base/options/option_values.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {

OptionSpec worker_momentum_option() {
  return {"worker-momentum",
          OptionType::kText,
          "local",
          "treatment of the optimizer's vectors at an exchange: kept (local), averaged too (average), or set to 0 with "
          "the count of updates (reset)",
          {"local", "average", "reset"}};
}

WorkerMomentum worker_momentum_in(const OptionValues& values) {
  const std::string& word = values.text("worker-momentum");
  if (word == "average") return WorkerMomentum::kAverage;
  return word == "reset" ? WorkerMomentum::kReset : WorkerMomentum::kLocal;
}

std::string describe_worker_momentum(WorkerMomentum momentum) {
  switch (momentum) {
    case WorkerMomentum::kLocal:
      return "worker momentum stays local";
    case WorkerMomentum::kAverage:
      return "worker momentum is averaged with the same weights; each optimizer counts its own updates";
    case WorkerMomentum::kReset:
      return "the worker's optimizer begins anew at each exchange: its vectors and its count of updates are set to 0";
  }
  return "";
}

void refuse_without_vectors(const CommunicatorContext& context, WorkerMomentum momentum) {
  if (momentum == WorkerMomentum::kLocal || context.optimizer_vectors != 0) return;
  refuse_option(context.values, "worker-momentum",
                "has no effect: the optimizer keeps no vectors; give it --momentum, or leave this out");
}

MomentumExchange::MomentumExchange(Transport& transport, WorkerMomentum momentum,
                                   const std::shared_ptr<const Codec>& codec, int vectors)
    : transport_(transport), momentum_(momentum), codec_(codec) {
  prepare(vectors);
}

void MomentumExchange::prepare(int vectors) {
  if (momentum_ != WorkerMomentum::kAverage) return;
  // Only the first vector, the momentum, is compressed. Error feedback sends a part of a difference later, which could
  // make second moments negative.
  while (std::ssize(means_) < vectors) means_.emplace_back(transport_, means_.empty() ? codec_ : nullptr);
}

void MomentumExchange::begin(const ReplicaView& replica) {
  replica_ = replica;
  if (momentum_ == WorkerMomentum::kLocal) return;
  if (replica.optimizer.empty()) {
    throw AgreedError(ExitCode::kUsage,
                      std::string("--worker-momentum ") +
                          (momentum_ == WorkerMomentum::kAverage ? "average" : "reset") +
                          " has no effect: the optimizer keeps no vectors; give it --momentum, or leave this out");
  }
  prepare(static_cast<int>(replica.optimizer.size()));
  for (std::size_t i = 0; i < means_.size(); ++i) means_[i].begin(*replica.device, replica.optimizer[i]);
}

double MomentumExchange::exchange(const WeightedMean& mean) {
  double seconds = 0;
  for (std::size_t i = 0; i < means_.size(); ++i) {
    seconds += means_[i].average(mean, replica_.optimizer[i]);
    means_[i].agree_on(replica_.optimizer[i]);
  }
  if (replica_.updates) *replica_.updates += mean.updates_behind();
  if (momentum_ == WorkerMomentum::kReset) forget_optimizer(replica_);
  return seconds;
}

void MomentumExchange::agree() {
  for (std::size_t i = 0; i < means_.size(); ++i) means_[i].agree_on(replica_.optimizer[i]);
}

void MomentumExchange::reset() {
  agree();
  for (MeanExchange& each : means_) each.forget();
}

double MomentumExchange::join(WeightedMean& mean) {
  double seconds = 0;
  for (std::size_t i = 0; i < means_.size(); ++i) seconds += means_[i].agree_on_mean(replica_.optimizer[i]);
  if (momentum_ == WorkerMomentum::kAverage && replica_.updates) join_counts(mean);
  return seconds;
}

void MomentumExchange::join_counts(WeightedMean& mean) {
  std::int64_t most = 0;
  for (const std::string& each : transport_.all_gather(std::to_string(*replica_.updates))) {
    most = std::max<std::int64_t>(most, std::stoll(each));
  }
  mean.set_updates_behind(most - *replica_.updates);
}

void MomentumExchange::append_state(std::vector<Slice>& state) {
  for (MeanExchange& each : means_) each.append_state(state);
}

void MomentumExchange::append_replicated(std::vector<Slice>& vectors) {
  for (std::size_t i = 0; i < means_.size(); ++i) {
    means_[i].append_agreed(vectors);
    if (i < replica_.optimizer.size()) vectors.push_back(replica_.optimizer[i]);
  }
}

}  // namespace eave
