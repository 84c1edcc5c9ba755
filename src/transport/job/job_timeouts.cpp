#include "transport/job/job_timeouts.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#include "base/host.h"
#include "base/options/number_text.h"
#include "base/printable.h"
#include "base/thread.h"
#include "transport/core/failure.h"

namespace eave {
namespace {

constexpr std::chrono::seconds kLauncherNeeds{1};  // a launcher needs this long to end the other ranks
constexpr int kMostRanksAhead = 6;

std::string describe_wait(const PromisedRanks& promised, std::chrono::milliseconds limit) {
  const int others = promised.ranks - 1;
  return "rank " + std::to_string(promised.rank) + " (host " + host_name() + ") has waited in MPI_Init for " +
         number_text(static_cast<double>(limit.count()) / 1000) + " s, for " + count_text(others, "other rank") + " (" +
         promised.variable + "): " + (others == 1 ? "it has not come" : "not all of them have come") +
         ", or cannot be reached. Look on each host whether eave runs there (ps -C eave), whether the script that "
         "starts "
         "it still does something else, and whether the hosts reach each other. This rank goes on waiting; Ctrl-C or "
         "scancel ends the job";
}

}  // namespace

EndTimeout::EndTimeout(int rank, int code, std::chrono::milliseconds limit) : rank_(rank), code_(code), limit_(limit) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  } catch (const std::system_error&) {
    // No thread could be started: the job ends without a limit.
  }
}

void EndTimeout::watch(const std::stop_token& stop) {
  if (stops_within(stop, limit_)) return;
  std::signal(SIGTERM, SIG_DFL);  // the launcher ends this rank by SIGTERM once another has printed
  if (stops_within(stop, kLauncherNeeds * std::min(rank_, kMostRanksAhead))) return;
  print_failure({ExitCode::kPeerLost, "the job is done and its files are written, but " + std::string(call_) +
                                          " has not come back for " + std::to_string(limit_.count() / 1000) +
                                          " s: another rank or the launcher stands still; ended without it"},
                rank_, 2);
  std::_Exit(code_ != 0 ? code_ : static_cast<int>(ExitCode::kPeerLost));
}

StartTimeout::StartTimeout(const std::optional<PromisedRanks>& promised, std::chrono::milliseconds limit) {
  if (!promised || promised->ranks < 2) return;
  try {
    start_without_signals([&] {
      thread_ = std::jthread([promised = *promised, limit](const std::stop_token& stop) {
        if (stops_within(stop, limit) || !speaks_for_host(promised, "start") || stop.stop_requested()) return;
        std::fprintf(stderr, "eave: warning: %s\n", printable(describe_wait(promised, limit)).c_str());
      });
    });
  } catch (const std::system_error&) {
    // No thread could be started: the rank waits without a warning.
  }
}

}  // namespace eave
