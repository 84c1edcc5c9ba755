// The transport `threads`: ranks are threads of one process.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/thread.h"
#include "eave/job.h"
#include "eave/transport.h"
#include "transport/core/background_transport.h"
#include "transport/core/failure.h"
#include "transport/threads/threads_job.h"
#include "transport/threads/threads_wire.h"

namespace eave {
namespace {

// The job's outcome is that of the first rank that failed. The others fail only because they lose it.
struct Outcome {
  std::mutex mutex;
  int code = 0;
};

void run_rank(ThreadsJob& job, int rank, const std::function<void(Transport&)>& body, Outcome& outcome) noexcept {
  const std::optional<Failure> failure = failure_of([&] {
    BackgroundTransport transport(std::make_unique<ThreadsWire>(job, rank));
    body(transport);
  });
  if (!failure) return;
  const std::lock_guard lock(outcome.mutex);
  const bool first = job.lose(rank);
  if (first) outcome.code = static_cast<int>(failure->code);
  if (failure->agreed ? rank == 0 : first) print_failure(*failure, rank, job.size());
}

int run_threads(int ranks, const std::function<void(Transport&)>& body) {
  ThreadsJob job(std::max(ranks, 1));
  Outcome outcome;
  std::vector<std::thread> threads;
  const std::optional<Failure> failure = failure_of([&] {
    if (ranks < 1) throw Error(ExitCode::kUsage, "the number of ranks must be 1 or more, not " + std::to_string(ranks));
    for (int rank = 1; rank < ranks; ++rank) {
      threads.push_back(
          start_thread("for rank " + std::to_string(rank), [&, rank] { run_rank(job, rank, body, outcome); }));
    }
  });
  if (failure) {
    print_failure(*failure, 0, 1);
    outcome.code = static_cast<int>(failure->code);
    job.lose(0);
  } else {
    run_rank(job, 0, body, outcome);
  }
  for (std::thread& thread : threads) thread.join();
  return outcome.code;
}

}  // namespace

TransportKind describe_transport_threads() {
  return {"threads", "ranks as threads of one process: for tests, and for a laptop without MPI", false, run_threads};
}

}  // namespace eave
