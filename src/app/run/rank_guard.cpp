#include "app/run/rank_guard.h"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "app/main/launch.h"
#include "base/host.h"
#include "base/options/option_values.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/communicator.h"
#include "transport/core/told_end.h"

namespace eave {
namespace {

bool keeps_checkpoints(const OptionValues& values) { return values.has("run-dir") && values.flag("checkpoint"); }

int workers_of(const OptionValues& values, int ranks) {
  return count_workers(find_kind(communicator_kinds(), values.text("communicator")), values, ranks);
}

// Prints with one write call, since other ranks may print at the same time.
void say(const std::string& text) {
  const std::string line = printable(text) + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace

void check_limits(const OptionValues& values, bool is_watched) {
  constexpr double kLeast = 1;  // ranks are checked many times within a limit
  for (const OptionSpec& option : guard_options()) {
    if (values.seconds(option.name) != 0 && values.seconds(option.name) < kLeast)
      refuse_option(values, option.name, "expected a time from 1s up, or 0s for no limit");
    if (!is_watched && values.given(option.name))
      throw Error(ExitCode::kUsage, "--" + option.name + " has no effect with one rank");
  }
}

WatchdogSettings watchdog_settings(const OptionValues& values, std::vector<std::string> hosts,
                                   ControlChannel& channel) {
  WatchdogSettings settings;
  const auto limit = [&](const std::string& option) -> WatchdogLimit {
    return {values.seconds(option), "--" + option + " " + values.text(option)};
  };
  settings.limits = {limit("limit-setup"), limit("limit-step"), limit("limit-checkpoint")};
  settings.hosts = std::move(hosts);
  if (values.has("run-dir")) settings.directory = values.text("run-dir");
  settings.say = say;
  // Neither MPI_Abort, which may wait for a broken network, nor an orderly exit, which would wait for the stuck thread.
  settings.leave = [&channel](ExitCode code) {
    tell_end(channel, code);
    _exit(static_cast<int>(code));
  };
  return settings;
}

std::vector<OptionSpec> guard_options() {
  return {{"limit-setup", OptionType::kSeconds, "10min",
           "longest wait for a silent or late rank before the first step; then the job ends. 0s: no limit"},
          {"limit-step", OptionType::kSeconds, "10min",
           "longest wait for a silent or late rank in a step or evaluation; then the job ends. 0s: no limit"},
          {"limit-checkpoint", OptionType::kSeconds, "10min",
           "longest wait for a silent or late rank while a checkpoint is saved; then the job ends. 0s: no limit"}};
}

RankGuard::RankGuard(Transport& transport, const OptionValues& values, bool is_part, RankProgress* of_job)
    : of_job_(of_job),
      hosts_(transport.all_gather(host_name())),
      leave_(transport.control(), transport.rank(), transport.size(),
             keeps_checkpoints(values) ? &ask_to_leave_by_signals() : nullptr, values.seconds("limit-step")) {
  ControlChannel* const channel = transport.control();
  const CallRecord* const calls = transport.calls();
  agree(transport, [&] {
    check_limits(values, is_part || (channel && calls));
    leave_.gate().pace(workers_of(values, transport.size()), rank_progress_);
  });
  rank_progress().enter(Section::kSetup, 0);
  std::vector<GuardTask*> tasks = {&leave_};
  if (channel && calls) {
    limit_ = values.seconds("limit-step");
    watchdog_.emplace(*channel, *calls, rank_progress_, transport.rank(), watchdog_settings(values, hosts_, *channel));
    tasks.push_back(&*watchdog_);
  }
  if (!keeps_checkpoints(values) && !is_part) {
    refusal_.emplace(channel, transport.rank(), hear_sigusr1(), [] {
      say("eave: warning: SIGUSR1 asks for a checkpoint, but this run keeps none, so it goes on; --run-dir keeps some");
    });
    tasks.push_back(&*refusal_);
  }
  if (keeps_checkpoints(values) && transport.rank() == 0) {
    interruption_.emplace(nullptr, 0, was_interrupted(), [] {
      say("eave: warning: Ctrl-C asks the run to leave: it saves a checkpoint; a second Ctrl-C ends it at once");
    });
    tasks.push_back(&*interruption_);
  }
  agree(transport, [&] { guard_.emplace(channel, tasks); });
}

void RankGuard::finish() {
  if (!watchdog_) return;
  watchdog_->leave();
  guard_->shorten_period();
  for (const auto start = SteadyClock::now(); !watchdog_->has_left();) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (limit_ > 0 && SteadyClock::now() - start > std::chrono::duration<double>(limit_))
      throw Error(ExitCode::kPeerLost, "this rank has finished, but other ranks have not within --limit-step");
  }
}

void RankGuard::explain(const Error& error) {
  if (!watchdog_ || error.code() != ExitCode::kInternal) return;
  watchdog_->doubt();
  std::this_thread::sleep_for(std::chrono::seconds(2));
}

}  // namespace eave
