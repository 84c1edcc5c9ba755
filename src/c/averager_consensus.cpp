// The consensus of an averager, and its end: what the ranks must agree in then, and the warnings.
#include <algorithm>
#include <cmath>

#include "base/options/number_text.h"
#include "c/averager.h"
#include "c/stderr_message.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {

// Only `none` with average-at-end has a last consensus that differs from the one before. No trait says so.
bool Averager::has_other_end() const {
  return options_.values.entries().contains("average-at-end") && options_.values.flag("average-at-end");
}

// Whether samples are the weights when parameters are averaged. eave does not know the weights of a plug-in.
bool Averager::weighs_parameters() const {
  if (workers_ == 1 || options_.plugin) return false;
  return has_other_end() || traits().exchanges == ExchangePattern::kBlockingSums;
}

// A mean with wrong weights, once made, cannot be mended. All ranks come to the same end.
void Averager::require_shares(const std::function<void()>& check) {
  try {
    check();
  } catch (const AgreedError&) {
    stage_ = Stage::kOnlyToBeClosed;
    is_gone_on_ = false;  // so that the end compares nothing
    throw;
  }
}

void Averager::check_shares() {
  if (weighs_parameters()) require_shares([this] { shares_.check(*counting_); });
}

Hash128 Averager::hash_of(ConstSlice values) {
  std::vector<float> copy;
  if (gpu_ && gpu_->holds(values)) {
    copy.resize(values.size());
    gpu_->read(values, copy);
    values = copy;
  }
  return eave::hash_of({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

// Empty if the values are in host memory already.
std::vector<float> Averager::on_host(ConstSlice values) {
  if (!gpu_ || !gpu_->holds(values)) return {};
  std::vector<float> copy(values.size());
  gpu_->read(values, copy);
  return copy;
}

// ‖x − c‖ / ‖c‖ of this rank's parameters x.
double Averager::distance_from(ConstSlice center) {
  const std::vector<float> own = on_host(replica_.parameters), other = on_host(center);
  const ConstSlice x = own.empty() ? ConstSlice(replica_.parameters) : own;
  const ConstSlice c = other.empty() ? center : other;
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    difference += (double{x[i]} - c[i]) * (double{x[i]} - c[i]);
    length += double{c[i]} * c[i];
  }
  return length > 0 ? std::sqrt(difference / length) : 0;
}

std::vector<std::pair<std::string, std::string>> Averager::given_settings() const {
  std::vector<std::pair<std::string, std::string>> settings = options_.settings();
  if (options_.plugin) settings.emplace_back("plugin-file", options_.plugin->file_hash);
  return settings;
}

// Ranks may take different numbers of steps if no rank waits for another: with async-order=free, or if the method
// exchanges nothing. A plug-in says by `exchanges` whether ranks only ask a center.
bool Averager::needs_equal_steps() const {
  const OptionValues& values = options_.values;
  if (values.entries().contains("async-order")) return values.text("async-order") != "free";
  return traits().exchanges != ExchangePattern::kNone && traits().exchanges != ExchangePattern::kRequests;
}

// If no exchange lay between, ranks that have taken different numbers of steps come here without having noticed.
void Averager::require_equal_steps() {
  if (!needs_equal_steps() || workers_ == 1) return;
  const std::vector<std::string> steps = counting_->gather(std::to_string(step_.index));
  let_first_judge(*counting_, [&] {
    for (std::size_t rank = 1; rank < steps.size(); ++rank)
      if (steps[rank] != steps[0])
        throw Error(ExitCode::kPeerLost, "the ranks are out of step: rank 0 has taken " + steps[0] + " steps, rank " +
                                             std::to_string(rank) + " " + steps[rank] +
                                             "; give each rank the same number of batches");
  });
}

// `is_shown`: not only saved. Compares what the method keeps equal on all ranks. If that has been repaired, a vector
// that was made from it must be made anew.
ConstSlice Averager::consensus(bool is_shown) {
  communicator_->forget_consensus();
  if (is_shown && has_other_end()) communicator_->finish();
  ConstSlice values = communicator_->consensus();
  const std::int64_t repaired = replicas_->repaired();
  replica_.device->wait();
  replicas_->settle();
  replicas_->compare();
  if (replicas_->repaired() != repaired) {
    communicator_->forget_consensus();
    values = communicator_->consensus();
    replica_.device->wait();
  }
  if (options_.plugin) require_same_consensus(*counting_, *replica_.device, values, workers_, plugin_name());
  return values;
}

void Averager::write_consensus(Slice into) {
  enter(Stage::kBetweenSteps, Stage::kBetweenSteps, "consensus");
  if (observer_) observer_->before_meeting();
  agree(*counting_, [&] {
    if (gpu_ && !gpu_->holds(into))
      throw Error(ExitCode::kUsage, "consensus: `into` does not lie in the memory of " + gpu_->name());
  });
  if (observer_) observer_->before_consensus();
  require_equal_steps();
  check_last_update(traits().averages_gradients);
  check_shares();
  const ConstSlice values = consensus(true);
  if (gpu_ && !gpu_->holds(values)) {
    gpu_->write(into, values);
  } else {
    replica_.device->copy(into, values);
  }
  replica_.device->wait();
  warn_if_untrained(into);
  is_gone_on_ = has_stepped_ = false;
  if (observer_) observer_->after_consensus(distance_from(into));
}

void Averager::write_mean(Slice into) {
  enter(Stage::kBetweenSteps, Stage::kBetweenSteps, "mean_of_workers");
  agree(*counting_, [&] {
    if (is_gone_on_) throw Error(ExitCode::kUsage, "mean_of_workers: call it between a consensus and the next step");
    if (gpu_ && !gpu_->holds(into))
      throw Error(ExitCode::kUsage, "mean_of_workers: `into` does not lie in the memory of " + gpu_->name());
  });
  replica_.device->copy(into, replica_.parameters);
  counting_->all_reduce_sum(into).wait();
  replica_.device->scale(into, 1.0f / static_cast<float>(workers_));
  replica_.device->wait();
}

// Warns if the consensus still is the model that the ranks began with.
void Averager::warn_if_untrained(ConstSlice values) {
  if (is_judged_ || step_.index == 0) return;
  if (hash_of(values) != first_) {
    is_judged_ = true;
    return;
  }
  is_told_untrained_ = true;
  if (counting_->rank() != 0) return;
  warn("after " + std::to_string(step_.index) + (step_.index == 1 ? " step" : " steps") +
       " the consensus is still, bit by bit, where it began: it is untrained. " +
       (traits().has_center && traits().exchanges != ExchangePattern::kNone
            ? "No exchange has changed it yet: take more steps, or a smaller tau"
            : "The optimizer has not moved the parameters that were given to eave"));
}

void Averager::warn_of_few_exchanges() const {
  if (workers_ == 1 || is_told_untrained_ || counting_->rank() != 0) return;
  const std::string text = describe_few_exchanges(options_.values, step_.index);
  if (!text.empty()) warn(text);
}

// Collective if ranks take steps independently. Then the consensus is judged by all if one has gone on since the last.
bool Averager::is_end_to_be_judged() {
  const bool is_mine = is_gone_on_ && !is_judged_ && traits().has_center && step_.index > 0;
  if (needs_equal_steps() || workers_ == 1) return is_mine;
  const std::vector<std::string> of_ranks = counting_->all_gather(is_mine ? "to be judged" : "");
  return std::ranges::any_of(of_ranks, [](const std::string& each) { return !each.empty(); });
}

void Averager::finish() {
  if (is_gone_on_) require_equal_steps();
  check_last_update(traits().averages_gradients);
  replicas_->settle();
  // If ranks take steps independently, some may have gone on since the last consensus. All meet in another one.
  if (!needs_equal_steps()) communicator_->forget_consensus();
  if (is_gone_on_ && traits().exchanges_together) {  // so all ranks come here, or none
    communicator_->forget_consensus();
    replicas_->compare();
  }
  if (is_end_to_be_judged()) {
    warn_if_untrained(communicator_->consensus());
    replica_.device->wait();
  }
  warn_of_few_exchanges();
  communicator_->finish();
  replica_.device->wait();
}

}  // namespace eave
