#include "app/run/run_length.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "app/main/command_line.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr const char* kOption = "extend-schedule";

std::optional<ScheduleLength> length_in(const std::string& text) {
  ScheduleLength length;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, length.samples);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, length.last_step);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  if (length.last_step < 0 || length.samples <= length.last_step) return std::nullopt;
  return length;
}

// The length for checkpoints from before 2026-11-25, which do not record it. The options in config.json give it, unless
// they already belong to a run that was extended.
ScheduleLength length_by_options(const ResumedSchedule& run) {
  OptionValues values;
  for (const char* name : {"epochs", "max-steps", "max-samples", "max-tokens", "context"}) {
    values.declare(run.values.entry(name).spec);
    if (const auto found = run.former.config.find(name); found != run.former.config.end()) {
      values.set(name, found->second, "config.json");
    }
  }
  if (run.former.config.contains(kOption) && run.values.text(kOption) != "stretch") {
    throw Error(ExitCode::kConfiguration,
                "--resume: neither the checkpoint nor config.json tells how long the learning-rate schedule was; give "
                "--extend-schedule stretch for the schedule of all steps that are asked for now");
  }
  return length_of(steps_in(values, run.former.epoch), run.former.epoch);
}

std::optional<ScheduleLength> noted_length(const Manifest& saved) {
  const auto note = saved.notes.find(kSchedule);
  return note == saved.notes.end() ? std::nullopt : length_in(note->second);
}

// The former length, in samples of the current epochs: with --resume elastic, images may have been added or removed.
ScheduleLength former_length(const ResumedSchedule& run) {
  const auto noted = noted_length(run.former.saved);
  const ScheduleLength length = noted ? *noted : length_by_options(run);
  if (run.former.epoch.samples == run.now.samples) return length;
  const double share = static_cast<double>(run.now.samples) / static_cast<double>(run.former.epoch.samples);
  return {std::llround(static_cast<double>(length.samples) * share),
          std::llround(static_cast<double>(length.last_step) * share)};
}

// Whether both lengths are the same. With another number of ranks or images, steps of the same epochs are cut
// differently, so the end may shift by up to a step.
bool is_same(const ResumedSchedule& run, const ScheduleLength& former, const ScheduleLength& asked) {
  const bool has_other_steps =
      run.former.epoch.of_step != run.now.of_step || run.former.epoch.samples != run.now.samples;
  const std::int64_t rounding = has_other_steps ? std::max(run.former.epoch.of_step, run.now.of_step) : 0;
  return std::abs(asked.samples - former.samples) <= rounding;
}

std::string epochs_text(const ResumedSchedule& run, const ScheduleLength& length) {
  const std::string epochs = number_text(static_cast<double>(length.samples) / static_cast<double>(run.now.samples));
  return epochs + (epochs == "1" ? " epoch" : " epochs");
}

std::string number_of_step(std::int64_t index) { return std::to_string(index + 1); }

[[noreturn]] void refuse_other_length(const ResumedSchedule& run, const ScheduleLength& former,
                                      const ScheduleLength& asked) {
  const std::int64_t next = run.now.samples_before(run.first_step);
  const std::string of_former = epochs_text(run, former), of_asked = epochs_text(run, asked);
  throw Error(
      ExitCode::kConfiguration,
      "--resume: this run's learning-rate schedule spans " + of_former + ", but the options now ask for " + of_asked +
          ". Stretched to that length, the schedule would make the rate of step " + number_of_step(run.first_step) +
          " " + number_text(run.rate(asked, next)) + " instead of " + number_text(run.rate(former, next)) +
          ". Give --extend-schedule stretch to do so, or --extend-schedule hold to keep the schedule of " + of_former +
          (asked.samples > former.samples
               ? " and its last rate, " + number_text(run.rate(former, former.last_step)) + ", after its end"
               : ""));
}

std::string describe_stretched(const ResumedSchedule& run, const ScheduleLength& former, const ScheduleLength& asked) {
  const std::int64_t next = run.now.samples_before(run.first_step);
  return "--extend-schedule stretch: the schedule now spans " + epochs_text(run, asked) +
         " (before: " + epochs_text(run, former) + "); the rate of step " + number_of_step(run.first_step) + " is " +
         number_text(run.rate(asked, next)) + " (before: " + number_text(run.rate(former, next)) + ")";
}

std::string describe_held(const ResumedSchedule& run, const ScheduleLength& former, const ScheduleLength& asked) {
  const std::string kept = "--extend-schedule hold: the schedule stays that of " + epochs_text(run, former);
  if (asked.samples < former.samples) {
    return kept + ", and ends with step " + std::to_string(run.steps) + ", at the rate " +
           number_text(run.rate(former, asked.last_step));
  }
  std::int64_t step = run.now.steps() * (former.last_step / run.now.samples);
  while (run.now.samples_before(step) < former.last_step) ++step;
  return kept + ": from step " + number_of_step(std::max(step, run.first_step)) + " the rate stays at " +
         number_text(run.rate(former, former.last_step));
}

}  // namespace

std::int64_t EpochSteps::samples_before(std::int64_t step) const {
  return step / steps() * samples + step % steps() * of_step;
}

std::int64_t EpochSteps::steps_for(std::int64_t all) const {
  return all / samples * steps() + (all % samples + of_step - 1) / of_step;
}

std::string to_text(const ScheduleLength& length) {
  return std::to_string(length.samples) + " " + std::to_string(length.last_step);
}

ScheduleLength length_of(std::int64_t steps, const EpochSteps& epoch) {
  const double epochs = static_cast<double>(steps) / static_cast<double>(epoch.steps());
  return {std::llround(epochs * static_cast<double>(epoch.samples)), epoch.samples_before(steps - 1)};
}

OptionSpec extend_schedule_option() {
  return choice(kOption, {"stretch", "hold"}, "",
                "cosine, if a resumed run gets another length: use the schedule of the new length (stretch), or keep "
                "the former schedule, and its last rate after its end (hold)");
}

namespace {

double tokens_in(const OptionValues& values) {
  const double tokens = real_in(values, "max-tokens", 1, 1e18);
  if (tokens != std::trunc(tokens)) refuse_option(values, "max-tokens", "expected a whole number");
  return tokens;
}

}  // namespace

std::optional<std::int64_t> most_samples(const OptionValues& values) {
  std::optional<std::int64_t> most;
  if (values.has("max-samples")) most = values.integer("max-samples", 1);
  if (values.has("max-tokens")) {
    const double windows = std::ceil(tokens_in(values) / static_cast<double>(values.integer("context", 1)));
    const auto samples = static_cast<std::int64_t>(windows);
    most = std::min(most.value_or(samples), samples);
  }
  return most;
}

std::int64_t steps_in(const OptionValues& values, const EpochSteps& epoch) {
  const double epochs = values.real("epochs");
  if (!(epochs > 0 && epochs <= 1e6)) refuse_option(values, "epochs", "expected a number above 0, at most a million");
  std::int64_t steps = std::max<std::int64_t>(1, std::llround(epochs * static_cast<double>(epoch.steps())));
  if (const auto samples = most_samples(values)) steps = std::min(steps, epoch.steps_for(*samples));
  return values.has("max-steps") ? std::min(steps, values.integer("max-steps", 1)) : steps;
}

std::int64_t steps_in_resumed(const OptionValues& values, const FormerRun& former, const EpochSteps& now) {
  const std::int64_t steps = steps_in(values, now);
  const auto noted = noted_length(former.saved);
  const auto before = former.config.find("max-samples");
  if (!noted || before == former.config.end() || before->second != values.text("max-samples")) return steps;
  const std::int64_t of_step = std::min(former.epoch.of_step, former.epoch.samples);
  const std::int64_t early = (values.integer("max-samples", 1) - 1) / of_step + 1;
  if (length_of(early, former.epoch).samples != noted->samples) return steps;
  const double epochs = static_cast<double>(early) / static_cast<double>(former.epoch.steps());
  return std::min<std::int64_t>(steps, std::llround(epochs * static_cast<double>(now.steps())));
}

ScheduleInForce decide_schedule(const ResumedSchedule& run) {
  const ScheduleLength asked = length_of(run.steps, run.now);
  if (run.first_step >= run.steps) return {asked};  // no steps are left
  const ScheduleLength former = former_length(run);
  const bool is_given = run.values.has(kOption);
  if (is_same(run, former, asked)) {
    const auto before = run.former.config.find(kOption);
    const bool is_repeated = before != run.former.config.end() && before->second == run.values.text(kOption);
    const bool is_inside = asked.last_step < former.samples;
    if (!is_given || is_repeated) return {{former.samples, is_inside ? asked.last_step : former.last_step}};
    refuse_option(run.values, kOption, "has no effect: the run is as long as before, " + epochs_text(run, former));
  }
  if (!is_given) refuse_other_length(run, former, asked);
  if (run.values.text(kOption) == "stretch") return {asked, describe_stretched(run, former, asked)};
  return {former, describe_held(run, former, asked)};
}

}  // namespace eave
