#include "transport/job/end_limit.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <system_error>

#include "transport/core/failure.h"

namespace eave {
namespace {

constexpr std::chrono::seconds kTurn{1};  // a launcher needs this long to end the other ranks
constexpr int kMostTurns = 6;

}  // namespace

EndLimit::EndLimit(int rank, int code, std::chrono::milliseconds limit) : rank_(rank), code_(code), limit_(limit) {
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // No thread could be started: the job ends without a limit.
  }
}

EndLimit::~EndLimit() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool EndLimit::ends_within(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return is_over_; });
}

void EndLimit::watch() {
  if (ends_within(limit_)) return;
  std::signal(SIGTERM, SIG_DFL);  // the launcher ends this rank by SIGTERM once another has printed
  if (ends_within(kTurn * std::min(rank_, kMostTurns))) return;
  print_failure({ExitCode::kPeerLost, "the job is done and its files are written, but " + std::string(call_) +
                                          " has not come back for " + std::to_string(limit_.count() / 1000) +
                                          " s: another rank or the launcher stands still; ended without it"},
                rank_, 2);
  std::_Exit(code_ != 0 ? code_ : static_cast<int>(ExitCode::kPeerLost));
}

}  // namespace eave
