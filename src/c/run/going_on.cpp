#include "c/run/going_on.h"

#include <filesystem>
#include <sstream>

#include "eave/check.h"
#include "report/read/line_reader.h"
#include "report/read/metrics_consistency.h"
#include "report/record/config.h"

namespace eave {

void refuse_loss(const OutputFolder& folder, const RunSettings& settings, const Averager& averager) {
  const std::optional<Averager::Former>& former = averager.former();
  const std::filesystem::path checkpoints = folder.path() / kCheckpoints;
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::kUsage, "--run-dir " + folder.path().string() + ": " + why);
  };
  std::error_code error;
  if (settings.overwrite && former && std::filesystem::equivalent(checkpoints, former->directory, error))
    refuse(
        "overwrite=on would remove the checkpoint that this averager goes on from; give resume=on in its place, so "
        "that the run in the directory goes on");
  if (!settings.resume || !holds_run(folder.path())) return;
  if (!former && state_of_run(folder.path()) == RunState::kFinished)
    refuse(
        "the run in the directory has ended, and the averager has loaded no checkpoint of it; give another directory, "
        "or overwrite=on to begin anew");
  if (former && former->progress.samples == 0)
    refuse(
        "the averager goes on from a state that was saved while no run was recorded, so the run in the directory "
        "cannot go on; give another directory. Later save while the run is open");
  if (!former && holds_checkpoints(folder))
    refuse(
        "resume=on, but the averager has loaded no checkpoint; load it before the run is opened, or give "
        "overwrite=on to begin anew");
}

bool holds_bare_run(const OutputFolder& folder) {
  if (state_of_run(folder.path()) != RunState::kBegun || holds_checkpoints(folder)) return false;
  LineReader lines(folder.path() / "metrics.jsonl");
  std::string_view line;
  return !lines.next(line) || !lines.is_whole();
}

std::map<std::string, std::string> config_to_go_on(const OutputFolder& folder, const RunSettings& settings) {
  const std::map<std::string, std::string> former = read_config(folder.path() / "config.json");
  std::map<std::string, std::string> config = settings.config;
  if (former.contains("lr")) config["lr"] = former.at("lr");
  if (!former.contains("tau")) config.erase("tau");  // an earlier version recorded no default of a method
  std::string other = differing_setting(config, former, false);
  const std::string metric = setting_in(former, "metric", "accuracy");
  if (metric != settings.metric.name) other = "metric is '" + settings.metric.name + "', but must be '" + metric + "'";
  if (other.empty()) return config;
  throw Error(ExitCode::kConfiguration,
              "--run-dir " + folder.path().string() + ": resume=on: " + other +
                  " to go on with the run in this directory; give another directory for other settings");
}

FoundRecord share(Transport& transport, const KeptRecord& kept) {
  std::ostringstream mine;
  mine << (kept.evaluation ? kept.evaluation->step : -1) << std::hexfloat;
  for (const double seconds : kept.seconds) mine << ' ' << seconds;
  std::istringstream found(transport.broadcast_text(mine.str()));
  std::int64_t evaluated = -1;
  found >> evaluated;
  FoundRecord record;
  if (evaluated >= 0) record.evaluated = evaluated;
  for (std::string seconds; found >> seconds;) record.seconds.push_back(std::strtod(seconds.c_str(), nullptr));
  return record;
}

void count_lines_after_save(const FoundRecord& found, int rank, TrainingProgress& progress, ObservedSteps& observed) {
  const double untold = progress.unrecorded.seconds;
  const auto place = static_cast<std::size_t>(rank);
  if (place < found.seconds.size() && found.seconds[place] > progress.seconds - untold / 2) {
    count_as_told(progress);
    observed.untold = 0;
  }
  if (found.evaluated) observed.untold = 0;  // its line, which should come before the evaluation, is lost
}

}  // namespace eave
