#include "transport/job/rank_end.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <thread>

#include "transport/core/failure.h"

namespace eave {
namespace {

constexpr std::chrono::milliseconds kTurn{250};  // ending all ranks takes some 50 ms
constexpr int kMostTurns = 6;

}  // namespace

std::chrono::milliseconds turn_of(int rank) { return kTurn * std::min(rank, kMostTurns); }

void wait_for_turn(int rank) {
  std::signal(SIGTERM, SIG_DFL);
  std::this_thread::sleep_for(turn_of(rank));
}

int run_rank(Transport& transport, const std::function<void(Transport&)>& body) {
  const std::optional<Failure> failure = failure_of([&] { body(transport); });
  if (!failure) return 0;
  if (!failure->agreed) wait_for_turn(transport.rank());
  if (!failure->agreed || transport.rank() == 0) print_failure(*failure, transport.rank(), transport.size());
  if (!failure->agreed) transport.abort(failure->code);
  return static_cast<int>(failure->code);
}

}  // namespace eave
