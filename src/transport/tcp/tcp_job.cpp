#include "transport/tcp/tcp_job.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

#include "base/host.h"
#include "base/options/quantities.h"
#include "base/thread.h"
#include "eave/check.h"
#include "transport/core/background_transport.h"
#include "transport/core/failure.h"
#include "transport/job/job_timeouts.h"
#include "transport/job/launchers.h"
#include "transport/messages/message_wire.h"
#include "transport/tcp/tcp_messages.h"

namespace eave {
namespace {

constexpr std::chrono::milliseconds kLastWordsNeed{50};

std::string environment(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? text : "";
}

// "1/4": rank 1 of 4.
std::optional<PromisedRanks> told_promise() {
  const std::string text = environment("EAVE_MEET_RANK");
  PromisedRanks promised;
  promised.variable = "EAVE_MEET_RANK";
  if (text.empty()) return std::nullopt;
  if (std::sscanf(text.c_str(), "%d/%d", &promised.rank, &promised.ranks) != 2)
    throw Error(ExitCode::kUsage, "EAVE_MEET_RANK is '" + text + "': give rank and number of ranks, such as 1/4");
  return promised;
}

// Throws Error(kUsage) unless the launcher tells the number of ranks.
PromisedRanks promise() {
  if (const auto told = told_promise()) return *told;
  const std::optional<PromisedRanks> promised = promised_ranks();
  const bool tells_size = promised && promised->garbled.empty() && promised->launcher->size &&
                          (promised->variable == promised->launcher->size || promised->variable.ends_with("_TASKS"));
  if (tells_size) return *promised;
  throw Error(ExitCode::kUsage,
              "--transport tcp needs a launcher that says how many ranks there are and which one this is: start eave "
              "with torchrun, srun or mpirun, or set WORLD_SIZE and RANK for each process");
}

std::chrono::milliseconds limit_of(const std::string& text) {
  const Reading<double> seconds = read_seconds(text);
  if (seconds.value && *seconds.value >= 0.001)
    return std::chrono::milliseconds(static_cast<std::int64_t>(*seconds.value * 1000));
  throw Error(ExitCode::kUsage, "--meet-limit (EAVE_MEET_LIMIT) is '" + text +
                                    "': give how long the ranks wait for each other, " + kTimeForms);
}

TcpMeeting meeting_of(const PromisedRanks& promised) {
  TcpMeeting meeting;
  meeting.rank = promised.rank;
  meeting.ranks = promised.ranks;
  meeting.host = host_name() + " " + machine_name();
  if (meeting.rank < 0 || meeting.rank >= meeting.ranks)
    throw Error(ExitCode::kUsage, "this is rank " + std::to_string(meeting.rank) + " of " +
                                      std::to_string(meeting.ranks) + " (" + promised.variable +
                                      "): ranks count from 0");
  if (meeting.ranks == 1) return meeting;
  const std::string point = environment("EAVE_MEET"), secret = environment("EAVE_MEET_SECRET");
  if (point.empty())
    throw Error(ExitCode::kUsage,
                "--transport tcp needs the address at which the ranks meet rank 0: give --meet HOST:PORT, or set "
                "EAVE_MEET, the same for all ranks");
  meeting.point = parse_address(point, "--meet (EAVE_MEET)");
  if (!secret.empty()) meeting.secret = secret_of(secret);
  if (const std::string limit = environment("EAVE_MEET_LIMIT"); !limit.empty()) meeting.limit = limit_of(limit);
  const std::string listener = environment("EAVE_MEET_SOCKET");
  if (meeting.rank == 0 && !listener.empty()) meeting.listener = std::atoi(listener.c_str());
  return meeting;
}

std::string describe_loss(const EndedRank& lost, const std::vector<std::string>& hosts) {
  const std::string rank = "rank " + std::to_string(lost.rank);
  if (lost.sent_changed) return describe_changed(rank + " on " + hosts[static_cast<std::size_t>(lost.rank)]);
  return rank +
         " is lost: its connections ended, and it has not said why. Look at its messages, and whether its host still "
         "runs";
}

// Ends the process when another rank is lost. The rank that comes first prints, and tells the others to end.
void end_with(TcpLinks& links, const std::vector<std::string>& hosts, EndedRank lost) {
  std::signal(SIGTERM, SIG_DFL);
  const int before = links.rank() - (lost.rank < links.rank() ? 1 : 0);
  // The rank that ended first may have told why, on a connection that brings it a little later than this loss.
  const auto turn = TcpClock::now() + kLastWordsNeed + turn_of(before);
  while (!lost.code && TcpClock::now() < turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    links.hear_last_words();
    lost.code = links.end_told();
  }
  if (lost.code) std::_Exit(static_cast<int>(*lost.code));
  print_failure({ExitCode::kPeerLost, describe_loss(lost, hosts), false}, links.rank(), links.size());
  links.tell_end(ExitCode::kPeerLost);
  std::_Exit(static_cast<int>(ExitCode::kPeerLost));
}

// Notices a lost rank whatever the other threads of this rank do. With `ends_process` it then ends the process.
class Watch {
 public:
  Watch(const MetRanks& met, bool ends_process) : links_(met.links), hosts_(met.names) {
    start_without_signals([&] {
      thread_ =
          start_thread<std::jthread>("to watch the connections", [this, ends_process](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
              links_->await_end();
              const std::optional<EndedRank> lost = links_->lost();
              if (lost && ends_process) end_with(*links_, hosts_, *lost);
            }
          });
    });
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    thread_.request_stop();
    links_->stop_watching();
  }

 private:
  const std::shared_ptr<TcpLinks> links_;
  const std::vector<std::string> hosts_;
  std::jthread thread_;
};

MessageWireSettings settings_of(const TcpUse& use, const std::vector<int>& hosts, ControlChannel* control) {
  MessageWireSettings settings{.name = use.name, .hosts = hosts, .sums_by_host = use.sums_by_host};
  settings.control = control;
  return settings;
}

// Calls `run` with the transport of this rank, then parts from the other ranks.
void with_transport(const TcpUse& use, const MetRanks& met, const std::function<void(Transport&)>& run) {
  TcpControl control(*met.links);
  BackgroundTransport transport(
      std::make_unique<MessageWire>(std::make_unique<TcpMessages>(met.links),
                                    settings_of(use, met.hosts, met.links->size() > 1 ? &control : nullptr)));
  run(transport);
}

// The end of a job whose ranks are threads: the code is that of the first rank that failed. The others fail only
// because they lose it.
struct Outcome {
  std::mutex mutex;
  int code = 0;

  void note(const Failure& failure, int rank, int ranks) {
    const std::lock_guard lock(mutex);
    if (failure.agreed ? rank == 0 : code == 0) print_failure(failure, rank, ranks);
    if (code == 0) code = static_cast<int>(failure.code);
  }
};

void run_thread(Transport& transport, const std::function<void(Transport&)>& body, Outcome& outcome) {
  const std::optional<Failure> failure = failure_of([&] { body(transport); });
  if (!failure) return;
  outcome.note(*failure, transport.rank(), transport.size());
  if (!failure->agreed) transport.abort(failure->code);
}

}  // namespace

int run_tcp_job(const std::function<void(Transport&)>& body, const TcpUse& use) {
  int code = 0, rank = rank_by_launcher();
  const std::optional<Failure> failure = failure_of([&] {
    const PromisedRanks promised = promise();
    const TcpMeeting meeting = meeting_of(promised);
    rank = meeting.rank;
    const MetRanks met = meet(meeting);
    met.links->leave_end_to_others();
    const Watch watch(met, true);
    with_transport(use, met, [&](Transport& transport) { code = run_rank(transport, body); });
    EndTimeout limit(rank, code);
    limit.enter("the ranks' parting");
    met.links->part();
  });
  if (!failure) return code;
  if (!failure->agreed) {
    wait_for_turn(rank);
    print_failure(*failure, rank, 2);
  }
  return static_cast<int>(failure->code);
}

int run_tcp_threads(int ranks, const std::vector<int>& hosts, const std::function<void(Transport&)>& body,
                    const TcpUse& use) {
  Outcome outcome;
  TcpMeeting meeting;
  meeting.ranks = ranks;
  meeting.point.host = "127.0.0.1";
  Socket listener = listen_at(meeting.point);
  meeting.point.port = address_of(listener).port;
  const int descriptor = listener.release();
  const auto run = [&](int rank) {
    TcpMeeting mine = meeting;
    mine.rank = rank;
    mine.listener = rank == 0 ? descriptor : -1;
    const std::optional<Failure> failure = failure_of([&] {
      MetRanks met = meet(mine);
      met.hosts = hosts;
      const Watch watch(met, false);
      with_transport(use, met, [&](Transport& transport) { run_thread(transport, body, outcome); });
      met.links->part();
    });
    if (failure) outcome.note(*failure, rank, ranks);
  };
  std::vector<std::jthread> threads;
  for (int rank = 1; rank < ranks; ++rank) threads.emplace_back([&run, rank] { run(rank); });
  run(0);
  threads.clear();
  return outcome.code;
}

}  // namespace eave
