#include "report/plan/plan_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "eave/check.h"
#include "report/plan/plan_simulation.h"

namespace eave {
namespace {

// The number of buckets into which allreduce cuts its gradients (src/communicator/methods/allreduce.cpp), whatever
// codec then makes them smaller.
double buckets_of(const PlanBasis& basis) {
  const double values = basis.parameter_bytes / 4, usual = std::clamp(std::ceil(values / 8), 32768.0, 262144.0);
  return std::max(1.0, std::ceil(values / (basis.bucket_bytes > 0 ? basis.bucket_bytes / 4 : usual)));
}

// Sizes of a center's shards without --shard-bytes (src/communicator/center/center_layout.h; on slow links
// src/transport/messages/chunk_sizes.h), and how many shards a worker requests at a time
// (src/transport/messages/requests.h).
constexpr double kLeastShard = 16 * 1024, kLongestShard = 256 * 1024, kLongestOnSlowLinks = 32 * 1024,
                 kSlowLink = 200e6, kRequestWindow = 8;

double ring_bytes(int ranks, double bytes) { return 2.0 * (ranks - 1) / ranks * bytes; }

class Prediction {
 public:
  Prediction(const PlanBasis& basis, const PlanNetwork& network, const PlanMethod& method, int ranks)
      : basis_(basis),
        network_(network),
        method_(method),
        ranks_(ranks),
        tau_(static_cast<double>(
            method.pattern == ExchangePattern::kGradientSums || method.pattern == ExchangePattern::kNone ? 1
                                                                                                         : method.tau)),
        times_(basis.step_seconds, static_cast<std::int64_t>(tau_)) {
    row_.ranks = ranks;
  }

  PlanRow make() {
    if (ranks_ == 1 || method_.pattern == ExchangePattern::kNone) return close(times_.mean(), times_.mean());
    switch (method_.pattern) {
      case ExchangePattern::kGradientSums:
        return allreduce();
      case ExchangePattern::kBlockingSums:
        return periodic();
      case ExchangePattern::kHiddenSums:
        return elastic();
      case ExchangePattern::kTree:
        if (is_one_host()) return method_.waits_with.empty() ? elastic() : periodic();
        return tree();
      case ExchangePattern::kRequests:
        return asynchronous();
      case ExchangePattern::kPairs:
      case ExchangePattern::kNone:
        break;
    }
    return pairs();
  }

 private:
  PlanCost sum(double bytes) const {
    const bool is_by_host = method_.sums_by_host && !basis_.is_sum_compressed;
    return is_by_host ? sum_by_host(network_, ranks_, bytes) : sum_flat(network_, ranks_, bytes);
  }

  void count_sum(const PlanCost& cost) {
    row_.bytes_per_rank = ring_bytes(ranks_, basis_.sum_bytes) / tau_;
    row_.link_bytes = cost.link_bytes / tau_;
    charge(cost);
  }

  void charge(const PlanCost& cost) {
    exchange_bound_ = cost.message_seconds > cost.seconds / 2 ? PlanBound::kMessages : PlanBound::kNetwork;
  }

  // Closes a simulated period. The simulation repeats measured ranks: 3 ranks from 2 measured count one of them twice.
  // So the mean is taken over the simulated ranks.
  PlanRow close_simulated(double whole, double without_exchange) {
    return close(whole, without_exchange, times_.mean_of_ranks(ranks_));
  }

  PlanRow close(double whole, double without_exchange) { return close(whole, without_exchange, times_.mean()); }

  // Fills the row. Seconds of tau steps: `whole` is all of it, `without_exchange` what remains if exchanges take no
  // time, `mean` what remains if ranks do not wait for each other either.
  PlanRow close(double whole, double without_exchange, double mean) {
    row_.step_seconds = whole / tau_;
    row_.straggling_seconds = std::max(0.0, without_exchange - mean) / tau_;
    row_.exchange_seconds = std::max(0.0, whole - std::max(without_exchange, mean)) / tau_;
    const int serving = method_.pattern == ExchangePattern::kRequests ? method_.center_ranks : 0;
    row_.samples_per_second = (ranks_ - serving) * basis_.samples_per_step / row_.step_seconds;
    const double undisturbed = ranks_ * basis_.samples_per_step / (mean / tau_);
    row_.efficiency = std::min(1.0, row_.samples_per_second / undisturbed);  // only rounding makes it exceed 1
    constexpr double kLittle = 0.05;
    const double most = std::max(row_.straggling_seconds, row_.exchange_seconds);
    if (most < kLittle * row_.step_seconds)
      row_.bound = PlanBound::kCompute;
    else
      row_.bound = row_.straggling_seconds >= row_.exchange_seconds ? PlanBound::kStragglers : exchange_bound_;
    return row_;
  }

  PlanRow allreduce() {
    const double buckets = buckets_of(basis_);
    PlanCost cost = sum(basis_.sum_bytes / buckets);
    const double last = cost.seconds;
    cost = {cost.seconds * buckets, cost.message_seconds * buckets, cost.link_bytes * buckets};
    count_sum(cost);
    const double longest = times_.expected_longest(ranks_);
    return close(longest + std::max(last, cost.seconds - basis_.hidden_share * times_.mean()), longest);
  }

  PlanRow periodic() {
    const PlanCost cost = sum(basis_.sum_bytes);
    count_sum(cost);
    const double longest = times_.expected_longest(ranks_);
    return close(longest + cost.seconds, longest);
  }

  PlanRow elastic() {
    const PlanCost cost = sum(basis_.sum_bytes);
    count_sum(cost);
    return close_simulated(simulate_elastic(times_, ranks_, cost.seconds), simulate_elastic(times_, ranks_, 0));
  }

  PlanRow tree() {
    const int group = network_.ranks_of_host(ranks_), groups = network_.hosts(ranks_);
    const double ratio = static_cast<double>(method_.global_tau) / tau_;
    const PlanCost within = sum_flat(network_, group, basis_.sum_bytes),
                   between = sum_between_hosts(network_, groups, basis_.sum_bytes);
    row_.bytes_per_rank = (ring_bytes(group, basis_.sum_bytes) + ring_bytes(groups, basis_.sum_bytes) / ratio) / tau_;
    row_.link_bytes = between.link_bytes / ratio / tau_;
    charge(between);
    TreeTiming timing{group, static_cast<std::int64_t>(ratio), within.seconds, between.seconds,
                      !method_.waits_with.empty()};
    const double whole = simulate_tree(times_, ranks_, timing);
    timing.within = timing.between = 0;
    return close_simulated(whole, simulate_tree(times_, ranks_, timing));
  }

  bool is_one_host() const { return network_.hosts(ranks_) == 1; }
  double ranks_of_link() const { return is_one_host() ? 1 : network_.ranks_of_host(ranks_); }

  PlanRow asynchronous() { return method_.center_ranks > 0 ? with_center_ranks() : with_shards(); }

  double hidden() const { return times_.mean() * static_cast<double>(method_.hiding_steps) / tau_; }

  PlanRow with_center_ranks() {
    const double rate = network_.rate(ranks_), bytes = basis_.parameter_bytes, serving = method_.center_ranks;
    const double sharing = ranks_of_link();
    const double load = std::max((ranks_ - serving) / serving, sharing) * bytes, demand = load / rate;
    const double mean = times_.mean(),
                 unhindered = mean + std::max(0.0, 2 * network_.delay(ranks_) + bytes / rate - hidden());
    row_.bytes_per_rank = bytes / tau_;
    row_.link_bytes = is_one_host() ? 0 : load / tau_;
    exchange_bound_ = demand > unhindered ? PlanBound::kCenter : PlanBound::kNetwork;
    return close(std::max(unhindered, demand), mean);
  }

  PlanRow with_shards() {
    const double rate = network_.rate(ranks_), bytes = basis_.parameter_bytes, p = ranks_;
    const double sharing = ranks_of_link();
    const double longest = !is_one_host() && rate < kSlowLink ? kLongestOnSlowLinks : kLongestShard;
    const double kept = std::min(bytes, std::max(bytes / p, kLeastShard)), count = std::ceil(kept / longest),
                 shard = kept / count, others = std::min(p - 1, (bytes - kept) / kept) * count;
    const double load = sharing * (std::max(0.0, bytes - sharing * kept) + (p - sharing) * kept);
    const double fill = ranks_ > 2 ? std::min(kRequestWindow, others) / 2 * sharing * shard / rate : 0;
    const double messages = 2 * (others + (p - 1) * count) * network_.message_seconds;
    const double exchange = 2 * network_.delay(ranks_) + std::max(load / rate + fill, messages), mean = times_.mean();
    row_.bytes_per_rank = ring_bytes(ranks_, bytes) / tau_;
    row_.link_bytes = is_one_host() ? 0 : load / tau_;
    exchange_bound_ = messages > load / rate + fill ? PlanBound::kMessages : PlanBound::kNetwork;
    return close(mean + std::max(0.0, exchange - hidden()), mean);
  }

  PlanRow pairs() {
    const double bytes = basis_.parameter_bytes;
    const double sent = ranks_of_link() * bytes;
    const double seconds = 2 * network_.delay(ranks_) + sent / network_.rate(ranks_);
    row_.bytes_per_rank = bytes / tau_;
    row_.link_bytes = is_one_host() ? 0 : sent / tau_;
    return close_simulated(simulate_pairs(times_, ranks_, method_.tau, seconds),
                           simulate_pairs(times_, ranks_, method_.tau, 0));
  }

  const PlanBasis& basis_;
  const PlanNetwork& network_;
  const PlanMethod& method_;
  const int ranks_;
  const double tau_;
  const PeriodTimes times_;
  PlanBound exchange_bound_ = PlanBound::kNetwork;
  PlanRow row_;
};

}  // namespace

const char* word_of(PlanBound bound) {
  constexpr std::array kWords = {"compute", "stragglers", "network", "messages", "center"};  // as in PlanBound
  return kWords.at(static_cast<std::size_t>(bound));
}

void let_wait(PlanMethod& method, const std::string& setting) {
  if (setting.empty()) return;
  method.waits_with = setting;
  if (method.pattern == ExchangePattern::kHiddenSums) method.pattern = ExchangePattern::kBlockingSums;
}

PlanRow predict(const PlanBasis& basis, const PlanNetwork& network, const PlanMethod& method, int ranks) {
  EAVE_CHECK(ranks >= 1 && ranks > method.center_ranks, "no rank would train");
  return Prediction(basis, network, method, ranks).make();
}

}  // namespace eave
