// The length of a run in steps (--epochs, --max-steps, --max-samples, --max-tokens), and that of its learning-rate
// schedule if a resumed run is longer or shorter than before (--extend-schedule).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "checkpoint/checkpoint_manifest.h"
#include "eave/options.h"

namespace eave {

// The key of the checkpoint note that holds a ScheduleLength: "60000 59936".
inline constexpr const char* kSchedule = "schedule";

// How the samples of an epoch are split into steps of all ranks.
struct EpochSteps {
  std::int64_t samples = 0;  // in an epoch
  std::int64_t of_step = 0;  // in a step; the last step of an epoch may have fewer
  std::int64_t steps() const { return (samples + of_step - 1) / of_step; }
  std::int64_t samples_before(std::int64_t step) const;
  std::int64_t steps_for(std::int64_t all) const;  // the fewest steps in which all ranks see that many samples
};

// The length of a schedule, in samples of all ranks. The last step of the schedule begins after `last_step` samples.
struct ScheduleLength {
  std::int64_t samples = 0, last_step = 0;
};
std::string to_text(const ScheduleLength& length);
ScheduleLength length_of(std::int64_t steps, const EpochSteps& epoch);

OptionSpec extend_schedule_option();
// The fewer of the samples that --max-samples and --max-tokens ask for; nothing if neither is given. Throws
// Error(kUsage).
std::optional<std::int64_t> most_samples(const OptionValues& values);
// The number of steps that --epochs, --max-samples, --max-tokens and --max-steps ask for. Throws Error(kUsage).
std::int64_t steps_in(const OptionValues& values, const EpochSteps& epoch);

// The run that a resumed run goes on with.
struct FormerRun {
  const Manifest& saved;
  std::map<std::string, std::string> config;  // of the run that wrote the checkpoint
  EpochSteps epoch;
};

// The steps_in of a resumed run. Until 2026-11-29, --max-samples counted an epoch's short last step as a full one, so
// runs ended early. If the checkpoint's schedule has such a length, the run keeps its end.
std::int64_t steps_in_resumed(const OptionValues& values, const FormerRun& former, const EpochSteps& now);

// A resumed run whose learning rate depends on its length.
struct ResumedSchedule {
  const OptionValues& values;
  const FormerRun& former;
  EpochSteps now;
  std::int64_t first_step = 0, steps = 0;  // of the resumed run
  // The learning rate of a step that begins after `samples` samples, under a schedule of this length.
  std::function<double(const ScheduleLength&, std::int64_t samples)> rate;
};

struct ScheduleInForce {
  ScheduleLength length;
  // A line of the card, if the run's own length would give another schedule, now or before.
  std::string note = {};
};

// Decides the length of the schedule. Throws Error: kConfiguration (the length changed, and --extend-schedule does not
// say what happens to the schedule), kUsage (that option has no effect).
ScheduleInForce decide_schedule(const ResumedSchedule& run);

}  // namespace eave
