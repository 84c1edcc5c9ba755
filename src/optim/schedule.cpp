// Reads the options of the learning rate and computes the rate of a step. A new shape of --lr-schedule is one row of
// Schedule::shapes(), and an entry in Schedule::options() for each option that it alone reads.
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

constexpr const char* kShape = "lr-schedule";

std::vector<double> read_epochs(const OptionValues& values) {
  if (!values.has("lr-step-epochs"))
    throw Error(ExitCode::kUsage, "--lr-schedule step needs --lr-step-epochs, such as 30,60,80");
  std::vector<double> epochs;
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

double read_step_factor(const OptionValues& values) {
  const double factor = real_in(values, "lr-step-factor", 0, 1e6);
  if (factor == 0 || factor == 1) refuse_option(values, "lr-step-factor", "expected a factor such as 0.1");
  return factor;
}

double read_final(const OptionValues& values, double peak) {
  const double final = real_in(values, "lr-final", 0, 1e6);
  if (final >= peak)
    refuse_option(values, "lr-final", "expected less than the rate it falls from, " + number_text(peak));
  return final;
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

// The course of the learning rate after the warm-up.
struct Schedule::Shape {
  std::string name;
  std::vector<std::string> options;  // the shape alone reads them
  bool depends_on_length;            // `rate` depends on total_samples_, as through progress()
  void (*read)(Schedule& schedule, const OptionValues& values);
  double (*rate)(const Schedule& schedule, double samples);
  std::string (*describe)(const Schedule& schedule);
};

const std::vector<Schedule::Shape>& Schedule::shapes() {
  static const std::vector<Shape> shapes = {
      {.name = "constant",
       .options = {},
       .depends_on_length = false,
       .read = [](Schedule&, const OptionValues&) {},
       .rate = [](const Schedule& schedule, double) { return schedule.peak_; },
       .describe = [](const Schedule&) { return std::string("constant"); }},
      {.name = "step",
       .options = {"lr-step-epochs", "lr-step-factor"},
       .depends_on_length = false,
       .read =
           [](Schedule& schedule, const OptionValues& values) {
             schedule.step_epochs_ = read_epochs(values);
             schedule.factor_ = read_step_factor(values);
           },
       .rate =
           [](const Schedule& schedule, double samples) {
             double rate = schedule.peak_;
             for (const double epoch : schedule.step_epochs_)
               if (samples >= epoch * schedule.samples_per_epoch_) rate *= schedule.factor_;
             return rate;
           },
       .describe =
           [](const Schedule& schedule) {
             std::string epochs;
             for (const double epoch : schedule.step_epochs_)
               epochs += (epochs.empty() ? "" : ", ") + number_text(epoch);
             return "times " + number_text(schedule.factor_) + " at epochs " + epochs;
           }},
      {.name = "cosine",
       .options = {"lr-final"},
       .depends_on_length = true,
       .read = [](Schedule& schedule,
                  const OptionValues& values) { schedule.final_ = read_final(values, schedule.peak_); },
       .rate =
           [](const Schedule& schedule, double samples) {
             return schedule.final_ + (schedule.peak_ - schedule.final_) * 0.5 *
                                          (1 + std::cos(std::numbers::pi * schedule.progress(samples)));
           },
       .describe = [](const Schedule& schedule) { return "cosine to " + number_text(schedule.final_); }}};
  return shapes;
}

const Schedule::Shape& Schedule::shape_in(const OptionValues& values) {
  return find_kind(shapes(), values.text(kShape));
}

bool Schedule::depends_on_length() const { return shape_->depends_on_length; }
bool Schedule::depends_on_length(const OptionValues& values) { return shape_in(values).depends_on_length; }

std::vector<OptionSpec> Schedule::options() {
  std::vector<std::string> names;
  for (const Shape& shape : shapes()) names.push_back(shape.name);
  return {
      {"lr", OptionType::kReal, "0.05",
       "learning rate before scaling; for adamw and muon it must be given, 0.001 is usual"},
      {kShape, OptionType::kText, "constant", "decrease of the learning rate as samples are seen", names},
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
      shape_(&shape_in(values)),
      scaling_(values.text("lr-scaling")) {
  base_ = real_in(values, "lr", 0, 1e6);
  if (base_ == 0) refuse_option(values, "lr", "a rate of 0 trains nothing");
  scale_ = scaling_factor(values, scale);
  peak_ = base_ * scale_;
  read_shape(values);
  read_warmup(values, units);
}

void Schedule::read_shape(const OptionValues& values) {
  for (const Shape& other : shapes()) {
    if (&other == shape_) continue;
    for (const std::string& option : other.options) refuse_without(values, option, "--lr-schedule " + other.name);
  }
  shape_->read(*this, values);
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
  return shape_->rate(*this, samples);
}

// From 0 at the end of the warm-up to 1 at the end of the run.
double Schedule::progress(double samples) const {
  return std::min((samples - warmup_samples_) / std::max(total_samples_ - warmup_samples_, 1.0), 1.0);
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
  return line + "; " + shape_->describe(*this);
}

}  // namespace eave
