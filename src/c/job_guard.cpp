#include "c/job_guard.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/host.h"
#include "c/stderr_message.h"
#include "eave/agreement.h"
#include "eave/options.h"
#include "transport/core/told_end.h"

namespace eave {
namespace {

// The section of eave_stop, which has no limit: a rank that calls it waits for ranks that still evaluate and save.
constexpr Section kWithoutLimit = Section::kCheckpoint;
constexpr double kMostPatience = 1;  // seconds of a call before the others are asked about it

Section section_of(const InterfaceCall& call) {
  switch (call.function) {
    case InterfaceCall::Function::kStep:
    case InterfaceCall::Function::kJoin:
      return Section::kStep;
    case InterfaceCall::Function::kBegin:
      return call.step > 0 ? Section::kStep : Section::kEvaluation;
    case InterfaceCall::Function::kOpen:
    case InterfaceCall::Function::kRunOpen:
      return Section::kSetup;
    case InterfaceCall::Function::kStop:
      return kWithoutLimit;
    default:
      return Section::kEvaluation;
  }
}

}  // namespace

WatchdogLimit limit_from(const std::string& text, const std::string& source) {
  OptionValues values;
  values.declare({"limit-step", OptionType::kSeconds, "10min", "longest wait for another rank"});
  values.set("limit-step", text, source);
  const double seconds = values.seconds("limit-step");
  if (seconds != 0 && seconds < 1)
    throw Error(ExitCode::kUsage,
                "limit-step=" + text + " (" + source + "): expected a time from 1s up, or 0s for no limit");
  return {seconds, "limit-step=" + text};
}

JobGuard::JobGuard(Transport& transport, LeaveTask& leave, FailureReport* failures, const WatchdogLimit& limit,
                   std::int64_t generation) {
  ControlChannel* const channel = transport.control();
  const CallRecord* const calls = transport.calls();
  std::vector<GuardTask*> tasks = {&leave};
  if (failures) tasks.push_back(failures);
  if (!channel || !calls) {
    guard_.emplace(channel, tasks);
    return;
  }
  const std::vector<std::string> hosts = transport.all_gather(host_name());
  WatchdogSettings settings;
  settings.limits.setup = settings.limits.step = limit;
  settings.hosts = hosts;
  settings.say = print_message;
  // Without MPI_Abort, which may wait for a broken network, and without a regular exit, which waits for the thread that
  // hangs.
  settings.leave = [channel](ExitCode code) {
    tell_end(*channel, code);
    _exit(static_cast<int>(code));
  };
  watchdog_.emplace(*channel, *calls, rank_progress_, transport.rank(), std::move(settings));
  const double patience = limit.seconds > 0 ? std::min(kMostPatience, limit.seconds / 16) : kMostPatience;
  calls_.emplace(*channel, transport.rank(), hosts, patience, generation,
                 [this](ExitCode code, const std::string& message) { watchdog_->end(code, message); });
  tasks.insert(tasks.end(), {&*calls_, &*watchdog_});
  agree(transport, [&] { guard_.emplace(channel, tasks); });
}

void JobGuard::enter(const InterfaceCall& call) {
  rank_progress_.enter(section_of(call), call.step);
  is_counted_ = calls_ && call.counts;
  if (is_counted_) calls_->enter(call);
}

void JobGuard::leave(bool counts) {
  rank_progress_.move();
  if (is_counted_) calls_->leave(counts);
}

void JobGuard::explain() {
  if (!calls_) return;
  calls_->doubt();
  std::this_thread::sleep_for(std::chrono::seconds(2));
}

}  // namespace eave
