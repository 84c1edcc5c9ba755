// The part of a step of Averager between begin_step and the optimizer: gradients are taken over, checked and averaged.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/options/number_text.h"
#include "c/averager.h"
#include "eave/check.h"
#include "kernels/cpu/finite.h"
#include "kernels/cpu/vector_passes.h"

namespace eave {
namespace {

// The largest magnitude that values may have if it is known only whether they are finite.
std::int32_t largest_if(bool is_finite) { return is_finite ? cpu::kInfinite - 1 : cpu::kInfinite; }

}  // namespace

// The first value stays behind, so that before_update can still tell other ranks by NaN that the loss is not finite.
void Averager::gradient_ready(std::size_t first, std::size_t count) {
  if (stage_ != Stage::kComputing)
    throw Error(ExitCode::kUsage, "gradient_ready is out of turn: it comes between begin_step and before_update");
  if (!communicator_->wants_gradients()) return;
  refuse_mixture(first_ready_ != kNoTensor);
  if (first > ready_ || count != ready_ - first)
    throw Error(ExitCode::kUsage, "gradient_ready: " + count_text(static_cast<std::int64_t>(count), "gradient") +
                                      " from " + std::to_string(first) + " on; expected a part that ends before " +
                                      std::to_string(ready_) + ", because parts come from the end without gaps");
  const std::size_t begin = std::max<std::size_t>(first, 1);
  if (begin >= ready_) return;
  const Slice part = replica_.gradients.subspan(begin, ready_ - begin);
  const bool is_finite = step_.samples == 0 || this->is_finite(part);
  weigh_gradients(part, is_finite || !is_compressed(), false);
  pass_on(part, largest_if(is_finite));
}

void Averager::refuse_mixture(bool is_mixed) {
  if (is_mixed)
    throw Error(ExitCode::kUsage,
                "gradient_ready and gradients_ready in the same step: hand over all gradients of a "
                "step by the same function");
}

void Averager::pass_on(Slice part, std::int32_t largest) {
  largest_ready_ = std::max(largest_ready_, largest);
  ready_ -= part.size();
  communicator_->gradient_ready(part);
}

void Averager::gradients_ready(const GradientParts& parts, std::size_t first) {
  if (stage_ != Stage::kComputing)
    throw Error(ExitCode::kUsage, "gradients_ready is out of turn: it comes between begin_step and before_update_from");
  require_whole(parts);
  if (!communicator_->wants_gradients()) return;
  refuse_mixture(ready_ < size() && first_ready_ == kNoTensor);
  // If a gradient changes afterwards, the exchange is repeated. A compressed one has changed the residuals by then.
  if (is_compressed()) {
    first_ready_ = parts.counts.size();  // no tensor has been handed over
    return;
  }
  std::size_t begin = 0;
  for (std::size_t k = 0; k < first; ++k) begin += parts.counts[k];
  begin = std::max<std::size_t>(begin, 1);
  if (begin >= ready_) return;
  const Slice part = replica_.gradients.subspan(begin, ready_ - begin);
  std::int32_t largest = take_over(parts, first, begin);
  first_ready_ = std::min(first_ready_, first);
  if (step_.samples == 0) largest = 0;
  if (step_.samples == 0) replica_.device->fill(part, 0);
  pass_on(part, largest);
}

void Averager::require_whole(const GradientParts& parts) const {
  std::size_t all = 0;
  for (const std::size_t count : parts.counts) all += count;
  if (is_on_gpu() || parts.values.size() != parts.counts.size() || all != size())
    throw Error(ExitCode::kUsage, "gradients in several pieces: expected " + count_text(size(), "value") +
                                      " together, in host memory, as many as eave_open was given; there are " +
                                      std::to_string(all) + (is_on_gpu() ? ", and the averager is on a GPU" : ""));
}

std::uint64_t Averager::fingerprint(const GradientParts& parts, std::size_t tensor) {
  return parts.values[tensor] ? cpu::fingerprint(parts.values[tensor], parts.counts[tensor]) : 1;
}

// Whether a gradient is another one now than when it was handed over.
bool Averager::have_changed(const GradientParts& parts) const {
  for (std::size_t k = first_ready_; k < parts.counts.size(); ++k)
    if (parts.counts[k] > 0 && fingerprint(parts, k) != fingerprints_[k]) return true;
  return false;
}

// Writes the gradients from tensor `first` on, with their weight, into the elements of the vector from `begin` to those
// that have been handed over. Keeps the fingerprints of these tensors. Returns the largest magnitude, as bits of a
// float.
std::int32_t Averager::take_over(const GradientParts& parts, std::size_t first, std::size_t begin) {
  const float weight = step_.samples == 0 ? 1 : communicator_->gradient_weight(step_);
  fingerprints_.resize(parts.counts.size());
  std::int32_t largest = 0;
  std::size_t at = 0, end = 0;
  for (std::size_t k = 0; k < parts.counts.size() && at < ready_; at = end, ++k) {
    end = at + parts.counts[k];
    if (k < first) continue;
    const std::size_t from = std::clamp(begin, at, end), to = std::clamp(ready_, from, end);
    const Slice into = replica_.gradients.subspan(from, to - from);
    const float* values = parts.values[k];
    if (values) {
      const cpu::CopiedValues copied =
          cpu::copy_weighted(into.data(), values + (from - at), weight, into.size(), from - at);
      largest = std::max(largest, copied.largest);
      fingerprints_[k] = copied.fingerprint + cpu::fingerprint(values, from - at) +  //
                         cpu::fingerprint(values + (to - at), end - to, to - at);
    } else {
      replica_.device->fill(into, 0);
      fingerprints_[k] = fingerprint(parts, k);
    }
  }
  return largest;
}

// Whether the sum of as many values as there are ranks, each at most this large, could overflow.
bool Averager::is_large(std::int32_t largest) const {
  return largest > cpu::magnitude_of(std::numeric_limits<float>::max() / (2 * static_cast<float>(workers_)));
}

bool Averager::are_finite(const GradientParts& parts) {
  for (std::size_t k = 0; k < parts.counts.size(); ++k)
    if (parts.values[k] && !cpu::all_finite(parts.values[k], parts.counts[k])) return false;
  return true;
}

bool Averager::before_update(double loss_sum, TensorFlags has_gradient, const GradientParts& parts) {
  enter(Stage::kComputing, Stage::kUpdating, "before_update");
  if (!parts.counts.empty()) require_whole(parts);
  if (sample_count_->is_under_way()) step_.samples_everywhere = sample_count_->wait().samples;
  averages_ = averages_gradients();
  gradient_exchanges_ = averages_ ? 1 : 0;
  const std::vector<std::uint8_t> own(has_gradient.begin(), has_gradient.end());
  Told told = average(loss_sum, has_gradient, parts, step_.samples > 0 && have_changed(parts));
  if (told.any_changed) {  // all ranks are told
    std::ranges::copy(own, has_gradient.begin());
    ready_ = size();
    largest_ready_ = 0;
    told = average(loss_sum, has_gradient, parts, false);
    gradient_exchanges_ = 2;
  }
  // A sum of large gradients may overflow. Every rank finds the same.
  if (averages_) told.is_whole = told.where.empty() && (told.is_small || is_finite(replica_.gradients));
  judge_gradients(told.is_whole, told.where);
  return !is_left_out_ && communicator_->updates(step_);
}

// A method may average gradients in before_update without taking parts of them earlier, as plug-ins do. A method that
// averages them in some steps only, such as local-sgd, wants them in these steps.
bool Averager::averages_gradients() const { return communicator_->wants_gradients() || traits().averages_gradients; }

// Begins the exchange of the gradients that have not been handed over, and waits for the exchange of all.
Averager::Told Averager::average(double loss_sum, TensorFlags has_gradient, const GradientParts& parts, bool changed) {
  const bool is_shared = averages_ && workers_ > 1;
  const bool tells = is_shared && (!has_gradient.empty() || is_compressed());
  Told told;
  const std::int32_t largest = take_rest(parts, averages_ && !tells);
  told.is_whole = std::isfinite(loss_sum) && largest < cpu::kInfinite;
  step_.loss_sum = told.is_whole ? loss_sum : std::numeric_limits<double>::quiet_NaN();
  const Slice rest = replica_.gradients.first(ready_);
  const bool has_weight = !parts.counts.empty() && told.is_whole && step_.samples > 0;
  if (uses_vector(parts) && !has_weight) weigh_gradients(rest, told.is_whole, averages_ && !tells);
  // All sums of gradients begin before that of the flags, because ranks hand over parts at different times.
  if (communicator_->wants_gradients()) communicator_->gradient_ready(rest);
  if (is_shared)
    flags_->start({.is_finite = told.is_whole,
                   .is_large = is_large(largest),
                   .counts = step_.samples > 0,
                   .has_changed = changed,
                   .share = static_cast<double>(step_.samples) / static_cast<double>(step_.samples_everywhere)},
                  has_gradient);
  // Pulls before the optimizer's step, so from the values at which the gradients were computed.
  if (const std::optional<Pull> pull = communicator_->before_update(step_))
    replica_.device->pull_parameters(replica_.parameters, *pull, step_.ahead);
  replica_.device->wait();
  if (is_shared) {
    AllGradients all = flags_->finish(has_gradient);
    require_shares([&] { refuse_shares(all.shares); });
    told.where = std::move(all.where);
    told.any_changed = all.any_changed;
    told.is_small = tells && !all.any_large && !is_compressed() && communicator_->wants_gradients();
  }
  return told;
}

// Whether the method reads the vector of gradients in this step, or the caller does afterwards.
bool Averager::uses_vector(const GradientParts& parts) const {
  return parts.counts.empty() || averages_ || !traits().uses_optimizer;
}

// Takes over the gradients that have not been handed over. Returns the largest magnitude of this rank's, as bits of a
// float. If all ranks look at the mean anyway (`is_seen_later`), it is taken to be finite.
std::int32_t Averager::take_rest(const GradientParts& parts, bool is_seen_later) {
  const bool is_apart = !parts.counts.empty();
  std::int32_t largest = largest_ready_;
  if (is_apart && uses_vector(parts)) largest = std::max(largest, take_over(parts, 0, 0));
  if (step_.samples == 0) return 0;
  if (is_seen_later) return largest_if(true);
  if (is_apart) return uses_vector(parts) ? largest : largest_if(are_finite(parts));
  return std::max(largest, largest_if(is_finite(replica_.gradients.first(ready_))));
}

// A value that is not finite stays on its rank. The sum carries NaN to the other ranks only if nothing else tells them.
void Averager::weigh_gradients(Slice part, bool is_finite, bool tells_by_values) {
  Device& device = *replica_.device;
  if (!is_finite || step_.samples == 0)
    return device.fill(part, !is_finite && tells_by_values ? std::numeric_limits<float>::quiet_NaN() : 0.0f);
  const float weight = communicator_->gradient_weight(step_);
  if (weight != 1) device.scale(part, weight);
}

}  // namespace eave
