// --extend-schedule: a run goes on and is to end elsewhere than before, under a learning rate that depends on its
// length.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "eave/options.h"
#include "train/checkpoint_manifest.h"

namespace eave {

// The note of a checkpoint's manifest that holds a ScheduleLength: "60000 59936".
inline constexpr const char* kSchedule = "schedule";

// How the samples of an epoch are cut into steps of all ranks.
struct EpochSteps {
  std::int64_t samples = 0;  // of an epoch
  std::int64_t of_step = 0;  // the epoch's last step may have fewer
  std::int64_t steps() const { return (samples + of_step - 1) / of_step; }
  std::int64_t samples_before(std::int64_t step) const;
};

// In samples of all ranks. The schedule's last step begins after `last_step` of them.
struct ScheduleLength {
  std::int64_t samples = 0, last_step = 0;
};
std::string to_text(const ScheduleLength& length);
ScheduleLength length_of(std::int64_t steps, const EpochSteps& epoch);

OptionSpec extend_schedule_option();
// The number of steps that --epochs, --max-samples and --max-steps ask for. Throws Error(kUsage).
std::int64_t steps_in(const OptionValues& values, const EpochSteps& epoch);

// A run that goes on, whose learning rate depends on its length.
struct ResumedSchedule {
  const OptionValues& values;
  const Manifest& saved;
  std::map<std::string, std::string> config;  // of the run that saved
  EpochSteps former, now;
  std::int64_t first_step = 0, steps = 0;  // of the run that goes on
  // The rate of a step that begins after so many samples, under a schedule of such a length.
  std::function<double(const ScheduleLength&, std::int64_t samples)> rate;
};

struct ScheduleInForce {
  ScheduleLength length;
  std::string note = {};  // a line of the card, if the run's own length would give another schedule, or did before
};

// Throws Error: kConfiguration if the length is another than before and --extend-schedule does not say what becomes of
// the schedule; kUsage if that option has no effect.
ScheduleInForce decide_schedule(const ResumedSchedule& run);

}  // namespace eave
