#include "app/resume/resumption.h"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "app/resume/checkpoint_location.h"
#include "base/host.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/check.h"
#include "report/record/config.h"
#include "report/record/run_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

bool has_same_end(const std::map<std::string, std::string>& before, const std::map<std::string, std::string>& now) {
  for (const char* name : {"epochs", "max-steps", "max-samples", "max-tokens", "stop-at-accuracy", "stop-at-loss",
                           "stop-after-time", "stop-after-bytes"}) {
    if (!is_same_value(setting_in(before, name), setting_in(now, name))) return false;
  }
  return true;
}

// Refuses to begin a run anew if it ended before its first checkpoint: it has results, or it would end the same way.
void refuse_what_is_over(const fs::path& run) {
  const RunState state = state_of_run(run);
  if (state == RunState::kFinished) {
    throw Error(ExitCode::kInputMissing,
                "--resume: the run in " + run.string() +
                    " has ended, with other options than now, and left no checkpoint to go on from; to begin anew give "
                    "--overwrite instead, or another --run-dir");
  }
  if (state == RunState::kDiverged) {
    throw Error(ExitCode::kDiverged, "--resume: the run in " + run.string() +
                                         " has diverged before its first checkpoint (" + failure_of_run(run) +
                                         "), and would again; to begin anew with other options give --overwrite "
                                         "instead of --resume");
  }
}

void warn_of_recorded_steps(const fs::path& run, const fs::path& checkpoints) {
  const std::int64_t steps = recorded_steps(run);
  if (steps == 0) return;
  const std::string text = "--resume: the run begins anew, because there is no checkpoint in " + checkpoints.string() +
                           ". The " + count_text(steps, "step") + " that it had recorded are replaced";
  std::fprintf(stderr, "eave: warning: %s\n", printable(text).c_str());
}

// Collective. Without a shared file system, a run's files are on the host of rank 0. If rank 0 is on another host than
// before, the run begins anew there. But the other hosts may also have older runs of that name.
void warn_of_run_elsewhere(Transport& transport, const fs::path& run) {
  const std::vector<std::string> hosts = transport.all_gather(holds_run(run) ? host_name() : "");
  const auto found = std::ranges::find_if(hosts, [](const std::string& host) { return !host.empty(); });
  if (transport.rank() != 0 || found == hosts.end() || found == hosts.begin()) return;
  const std::string text = "--resume: the run begins anew, because rank 0 (host " + host_name() + ") has none in " +
                           run.string() + ". Rank " + std::to_string(found - hosts.begin()) + " (host " + *found +
                           ") has one there: to go on with it, start rank 0 on that host";
  std::fprintf(stderr, "eave: warning: %s\n", printable(text).c_str());
}

std::map<std::string, std::string> config_of_run(const fs::path& run) {
  const fs::path file = run / "config.json";
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error)))
    throw Error(ExitCode::kInputMissing,
                file.string() +
                    " is missing, so the settings of the run are not known; put it back from a "
                    "copy, or begin the run anew with --overwrite");
  return read_config(file);
}

// Collective. Rank 0 reads the settings for the run's length, and all ranks get them.
std::map<std::string, std::string> length_in_config(Transport& transport, const fs::path& run) {
  std::string mine;
  agree(transport, [&] {
    if (transport.rank() != 0) return;
    const std::map<std::string, std::string> config = config_of_run(run);
    for (const char* name : {"epochs", "max-steps", "max-samples", "max-tokens", "context", "extend-schedule"}) {
      if (config.contains(name)) mine += std::string(name) + "\n" + config.at(name) + "\n";
    }
  });
  std::istringstream lines(transport.broadcast_text(mine));
  std::map<std::string, std::string> config;
  for (std::string name, text; std::getline(lines, name) && std::getline(lines, text);) config[name] = text;
  return config;
}

bool asks_for_rollback(const OptionValues& values) { return values.text("on-nonfinite") == "rollback"; }

}  // namespace

std::optional<FoundCheckpoint> find_checkpoint_of_run(Transport& transport, const OptionValues& values,
                                                      std::vector<int>& without_access) {
  without_access = find_ranks_without_access(transport, directory_to_access(values));
  return find_checkpoint(transport, checkpoint_directory(values), without_access,
                         "begin anew with --overwrite, or in another directory");
}

std::optional<Resumption> find_resumption(Transport& transport, const OptionValues& values) {
  if (!may_resume(values)) return std::nullopt;
  const fs::path run = values.text("run-dir"), directory = checkpoint_directory(values);
  std::vector<int> without_access;
  auto found = find_checkpoint_of_run(transport, values, without_access);
  if (!found) {
    if (may_begin_anew(values)) {
      warn_of_run_elsewhere(transport, run);
      agree(transport, [&] {
        if (transport.rank() != 0) return;
        refuse_what_is_over(run);
        warn_of_recorded_steps(run, directory);
      });
      return std::nullopt;
    }
    throw AgreedError(ExitCode::kInputMissing, "no checkpoint in " + directory.string() + "; start without --resume");
  }
  const bool is_other = std::ssize(found->manifest.files) != transport.size();
  const std::string mine = state_of_run(run) == RunState::kFinished ? "ended" : "";
  const bool has_ended = !transport.broadcast_text(mine).empty();
  const bool is_elastic = is_other && values.text("resume") == "elastic";
  return Resumption{std::move(*found), is_elastic, has_ended, std::move(without_access),
                    length_in_config(transport, run)};
}

bool has_nothing_to_do(Transport& transport, const CommandLine& line, const OptionValues& values) {
  if (!may_resume(values) || !values.has("run-dir")) return false;
  bool is_over = false;
  agree(transport, [&] {
    const fs::path run = values.text("run-dir");
    if (transport.rank() == 0) require_run_files(run);
    is_over = may_begin_anew(values) && transport.rank() == 0 && state_of_run(run) == RunState::kFinished &&
              has_same_end(config_of_run(run), line.config_in_force(values));
  });
  if (is_over)
    std::printf("the run in %s has ended; nothing is left to do\n", printable(values.text("run-dir")).c_str());
  return !transport.broadcast_text(is_over ? "over" : "").empty();
}

void check_rollback(const OptionValues& values) {
  if (asks_for_rollback(values) && !(values.has("run-dir") && values.flag("checkpoint")))
    throw Error(ExitCode::kUsage,
                "--on-nonfinite rollback goes back to checkpoints, and there will be none: give "
                "--run-dir, without --checkpoint off");
  if (asks_for_rollback(values) && values.has("replay"))
    throw Error(
        ExitCode::kUsage,
        "--on-nonfinite rollback cannot be combined with --replay: a log covers a whole run; give --on-nonfinite "
        "skip or abort");
}

Rollback::Rollback(Transport& transport, const OptionValues& values)
    : transport_(transport), values_(values), is_asked_(asks_for_rollback(values)) {}

bool Rollback::goes_back(const AgreedError& error) {
  if (!is_asked_ || error.code() != ExitCode::kDiverged) return false;
  std::vector<int> without_access;
  const auto found = find_checkpoint_of_run(transport_, values_, without_access);
  if (!found)
    throw AgreedError(ExitCode::kDiverged, std::string(error.what()) + "; there is no checkpoint to go back to");
  const std::string where = "the checkpoint of step " + std::to_string(found->manifest.step);
  if (found->manifest.step <= step_) {
    throw AgreedError(ExitCode::kDiverged, std::string(error.what()) + "; the run already went back to " + where +
                                               " once, and diverged again");
  }
  step_ = found->manifest.step;
  ++times_;
  if (transport_.rank() == 0)
    std::fprintf(stderr, "eave: warning: %s; back to %s (--on-nonfinite rollback)\n", printable(error.what()).c_str(),
                 where.c_str());
  values_.set("resume", "auto", "--on-nonfinite rollback");
  values_.set("overwrite", "off", "--on-nonfinite rollback");
  return true;
}

}  // namespace eave
