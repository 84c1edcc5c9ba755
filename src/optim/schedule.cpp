// Reads the options of the learning rate and computes the rate of a step.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "eave/check.h"
#include "eave/optimizer.h"

namespace eave {
namespace {

std::vector<double> read_epochs(const OptionValues& values) {
  std::vector<double> epochs;
  if (!values.has("lr-step-epochs")) return epochs;
  for (const std::string& item : split_text(values.text("lr-step-epochs"), ',')) {
    const double epoch = read_real(item).value.value_or(0);
    if (epoch <= (epochs.empty() ? 0 : epochs.back())) {
      refuse_option(values, "lr-step-epochs",
                    "expected rising epochs with commas between, such as 30,60,80; item " +
                        std::to_string(epochs.size() + 1) + " is '" + item + "'");
    }
    epochs.push_back(epoch);
  }
  return epochs;
}

void refuse_without(const OptionValues& values, const std::string& name, const std::string& what_it_needs) {
  if (values.given(name)) refuse_option(values, name, "has no effect without " + what_it_needs);
}

struct Length {
  double count = 0;
  std::string unit;  // step, token or epoch

  std::string text() const { return number_text(count) + " " + unit + (count == 1 ? "" : "s"); }
};

// Reads --warmup: 2000steps, 1e6tokens, 0.5epochs, also with a blank before the unit.
Length read_length(const OptionValues& values) {
  std::string text = values.text("warmup");
  if (text.ends_with('s')) text.pop_back();
  for (const char* const unit : {"step", "token", "epoch"}) {
    if (!text.ends_with(unit)) continue;
    const std::string_view number = trimmed(std::string_view(text).substr(0, text.size() - std::string(unit).size()));
    const std::optional<double> count = read_real(number).value;
    if (count && *count > 0) return {*count, unit};
  }
  refuse_option(values, "warmup", "expected a number above 0 and its unit, such as 2000steps, 1e6tokens or 0.5epochs");
}

double scaling_factor(const OptionValues& values, double scale) {
  const std::string& rule = values.text("lr-scaling");
  if (rule == "none") return 1;
  if (scale == 0) {
    refuse_option(values, "lr-scaling",
                  "has no effect here: each replica trains on batches of its own, whatever the number of ranks");
  }
  return rule == "linear" ? scale : std::sqrt(scale);
}

}  // namespace

std::vector<OptionSpec> Schedule::options() {
  return {
      {"lr", OptionType::kReal, "0.05", "learning rate before scaling; adamw needs a smaller one, usually 0.001"},
      {"lr-schedule",
       OptionType::kText,
       "constant",
       "decrease of the learning rate as samples are seen",
       {"constant", "step", "cosine"}},
      {"lr-step-epochs", OptionType::kText, "", "step: epochs at which the learning rate falls, such as 30,60,80"},
      {"lr-step-factor", OptionType::kReal, "0.1",
       "step: factor on the learning rate at each epoch of --lr-step-epochs"},
      {"lr-final", OptionType::kReal, "0", "cosine: learning rate at the end"},
      {"lr-scaling",
       OptionType::kText,
       "none",
       "if gradients are averaged, multiply the learning rate by total batch / batch per rank (linear), by its square "
       "root (sqrt), or not (none)",
       {"none", "linear", "sqrt"}},
      {"warmup", OptionType::kText, "",
       "length of gradual warm-up, such as 2000steps, 1e6tokens or 0.5epochs, of all ranks together"},
      {"warmup-epochs", OptionType::kReal, "0", "epochs of gradual warm-up; 0: no warm-up"},
      {"warmup-from", OptionType::kReal, "1",
       "factor on --lr at which warm-up begins, such as 0; it ends at the scaled rate"}};
}

Schedule::Schedule(const OptionValues& values, std::int64_t samples_per_epoch, std::int64_t total_samples, double scale,
                   const ScheduleUnits& units)
    : samples_per_epoch_(static_cast<double>(samples_per_epoch)),
      total_samples_(static_cast<double>(total_samples)),
      shape_(values.text("lr-schedule")),
      scaling_(values.text("lr-scaling")) {
  base_ = real_in(values, "lr", 0, 1e6);
  if (base_ == 0) refuse_option(values, "lr", "a rate of 0 trains nothing");
  scale_ = scaling_factor(values, scale);
  peak_ = base_ * scale_;
  read_shape(values);
  read_warmup(values, units);
}

void Schedule::read_shape(const OptionValues& values) {
  if (shape_ == "step") {
    step_epochs_ = read_epochs(values);
    factor_ = real_in(values, "lr-step-factor", 0, 1e6);
    if (factor_ == 0 || factor_ == 1) refuse_option(values, "lr-step-factor", "expected a factor such as 0.1");
    if (step_epochs_.empty()) {
      throw Error(ExitCode::kUsage, "--lr-schedule step needs --lr-step-epochs, such as 30,60,80");
    }
  } else {
    refuse_without(values, "lr-step-epochs", "--lr-schedule step");
    refuse_without(values, "lr-step-factor", "--lr-schedule step");
  }
  if (shape_ == "cosine") {
    final_ = real_in(values, "lr-final", 0, 1e6);
    if (final_ >= peak_) {
      refuse_option(values, "lr-final", "expected less than the rate it falls from, " + number_text(peak_));
    }
  } else {
    refuse_without(values, "lr-final", "--lr-schedule cosine");
  }
}

void Schedule::read_warmup(const OptionValues& values, const ScheduleUnits& units) {
  Length length{real_in(values, "warmup-epochs", 0, 1e6), "epoch"};
  const std::string option = values.has("warmup") ? "warmup" : "warmup-epochs";
  if (values.has("warmup")) {
    if (length.count > 0) refuse_option(values, "warmup-epochs", "contradicts --warmup; give one");
    length = read_length(values);
  }
  if (length.count == 0) return refuse_without(values, "warmup-from", "--warmup or --warmup-epochs");
  const double from = real_in(values, "warmup-from", 0, 1e6);
  warmup_rate_ = from * base_;
  warmup_ = length.text();
  warmup_samples_ = length.count * samples_per_epoch_;
  if (length.unit == "step") warmup_samples_ = samples_in_steps(length.count, units);
  if (length.unit == "token") {
    if (units.tokens_per_sample == 0) refuse_option(values, "warmup", "the data has no tokens; give steps or epochs");
    warmup_samples_ = length.count / static_cast<double>(units.tokens_per_sample);
  }
  if (from == 1 && scaling_ == "none") {
    refuse_option(values, option,
                  "has no effect: without --lr-scaling the warm-up from 1 times --lr ends where it begins; "
                  "give --warmup-from, such as 0.1");
  }
  if (!step_epochs_.empty() && step_epochs_.front() * samples_per_epoch_ < warmup_samples_) {
    refuse_option(values, "lr-step-epochs",
                  "the first step comes before the end of the warm-up, " +
                      (length.unit == "epoch" ? "epoch " + number_text(length.count) : "after " + warmup_));
  }
}

// An epoch's last step may have fewer samples than the others.
double Schedule::samples_in_steps(double steps, const ScheduleUnits& units) const {
  const auto of_step = static_cast<double>(units.samples_per_step);
  const double steps_per_epoch = std::ceil(samples_per_epoch_ / of_step), epochs = std::floor(steps / steps_per_epoch);
  return epochs * samples_per_epoch_ + std::min((steps - epochs * steps_per_epoch) * of_step, samples_per_epoch_);
}

double Schedule::learning_rate(std::int64_t samples_seen) const {
  const auto samples = static_cast<double>(std::min(samples_seen, held_from_));
  if (samples < warmup_samples_) return warmup_rate_ + (peak_ - warmup_rate_) * (samples / warmup_samples_);
  return shaped(samples);
}

double Schedule::shaped(double samples) const {
  if (shape_ == "cosine") {
    const double length = std::max(total_samples_ - warmup_samples_, 1.0);
    const double share = std::min((samples - warmup_samples_) / length, 1.0);
    return final_ + (peak_ - final_) * 0.5 * (1 + std::cos(std::numbers::pi * share));
  }
  double rate = peak_;
  for (const double epoch : step_epochs_) {
    if (samples >= epoch * samples_per_epoch_) rate *= factor_;
  }
  return rate;
}

int Schedule::drops(std::int64_t samples_seen) const {
  if (factor_ >= 1) return 0;
  return static_cast<int>(std::ranges::count_if(
      step_epochs_, [&](double epoch) { return static_cast<double>(samples_seen) >= epoch * samples_per_epoch_; }));
}

std::string Schedule::describe() const {
  std::string line = number_text(base_);
  if (scaling_ != "none") {
    line += " x " + number_text(scale_) + " (" + scaling_ + ") = " + number_text(peak_);
  }
  if (!warmup_.empty()) line += ", after warm-up from " + number_text(warmup_rate_) + " over " + warmup_;
  if (shape_ == "cosine") return line + "; cosine to " + number_text(final_);
  if (shape_ == "constant") return line + "; constant";
  line += "; times " + number_text(factor_) + " at epochs ";
  for (std::size_t i = 0; i < step_epochs_.size(); ++i) line += (i > 0 ? ", " : "") + number_text(step_epochs_[i]);
  return line;
}

}  // namespace eave
