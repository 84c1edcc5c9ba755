#include "c/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/host.h"
#include "base/options/spelling.h"
#include "base/thread.h"
#include "c/averager_handle.h"
#include "eave/agreement.h"
#include "eave/decorators.h"
#include "eave/job.h"
#include "transport/core/failure.h"
#include "transport/job/launchers.h"
#include "transport/mpi/mpi_library.h"
#include "transport/nccl/nccl_support.h"

namespace eave {
namespace {

// All ranks fail for the same reason. The one that is to print throws Error, and the others throw AgreedError. No rank
// leaves before that one has printed.
void refuse_lost_ranks(const std::string& transport) {
  constexpr std::chrono::milliseconds kSpeakerNeeds{1000};
  const auto end = std::chrono::steady_clock::now() + kSpeakerNeeds;
  const std::optional<PromisedRanks> lost = lost_ranks(transport);
  if (!lost) return;
  const bool speaks = speaks_for_host(*lost);
  std::this_thread::sleep_until(end);
  if (speaks) throw Error(ExitCode::kPeerLost, describe_lost(*lost, 1));
  throw AgreedError(ExitCode::kPeerLost, describe_lost(*lost, 1));
}

// If the program has called MPI_Init, MPI has its ranks, whatever launcher started them.
const TransportKind& find_transport(const std::string& name) {
  const bool has_mpi = started_by_launcher() || mpi_is_running();
  if (!has_mpi) refuse_lost_ranks(name);
  const std::string wanted = resolve_transport(name, has_mpi);
  std::vector<std::string> names = {"auto"};
  for (const TransportKind& kind : transport_kinds()) {
    if (kind.starts_ranks) continue;
    if (kind.name == wanted) return kind;
    names.push_back(kind.name);
  }
  throw Error(ExitCode::kUsage, "no transport '" + wanted + "' for ranks that are processes; there are: " +
                                    comma_list(names) + did_you_mean(wanted, names));
}

// Read as `eave train` reads --limit-step.
WatchdogLimit limit_of_environment() {
  const char* const text = std::getenv("EAVE_LIMIT_STEP");
  return limit_from(text ? text : "10min", text ? "environment EAVE_LIMIT_STEP" : "default");
}

// Collective.
int find_local_rank(Transport& transport) {
  const std::string own = host_name() + " " + machine_name();
  const std::vector<std::string> hosts = transport.all_gather(own);
  return static_cast<int>(std::count(hosts.begin(), hosts.begin() + transport.rank(), own));
}

// Why the ranks did not meet. It is printed already: by this thread, or by another rank.
AgreedError describe_start(int code) {
  if (const std::optional<Failure> printed = printed_failure()) return {printed->code, printed->message};
  return {code == 0 ? ExitCode::kPeerLost : static_cast<ExitCode>(code),
          "the ranks of the job did not meet; an earlier message on standard error says why"};
}

// Whether the failure is this rank's own, with one of these codes.
bool has_code(std::exception_ptr failure, std::initializer_list<ExitCode> codes) {
  try {
    std::rethrow_exception(failure);
  } catch (const AgreedError&) {
    return false;
  } catch (const Error& error) {
    return std::ranges::find(codes, error.code()) != codes.end();
  } catch (...) {  // as where texts of another call are read
    return std::ranges::find(codes, ExitCode::kInternal) != codes.end();
  }
}

}  // namespace

Session::Session(const std::string& transport) : limit_(limit_of_environment()), asked_for_(transport) {
  const TransportKind& kind = find_transport(transport);
  process_ = getpid();
  thread_ = start_thread("for communication", [this, &kind] {
    const int code = kind.run(0, [this](Transport& ranks) { attend(ranks); });
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    if (!is_open_) failure_ = std::make_exception_ptr(describe_start(code));
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_open_ || has_ended_; });
  if (is_open_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(failure_);
}

Session::~Session() { close(); }

void Session::attend(Transport& ranks) {
  MatchedTransport transport(ranks);
  leave_.emplace(transport.control(), transport.rank(), transport.size(), &asked_to_leave(), limit_.seconds);
  leaving_.emplace(leave_->gate());
  if (transport.control()) failures_.emplace(*transport.control(), transport.rank(), record_failure_of_other_rank);
  guard_ = std::make_unique<JobGuard>(transport, *leave_, failures(), limit_, guards_++);
  transport_ = &transport;
  const int local_rank = find_local_rank(transport);
  std::unique_lock lock(mutex_);
  rank_ = transport.rank();
  size_ = transport.size();
  local_rank_ = local_rank;
  tries_nccl_ = tries_nccl(asked_for_, transport.name());
  is_open_ = true;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [this] { return work_ || is_closing_; });
    const bool is_end = !work_;
    lock.unlock();
    if (is_end) return take_leave(transport);
    const std::exception_ptr failure = carry_out(transport, *work_);
    lock.lock();
    failure_ = failure;
    work_ = nullptr;
    changed_.notify_all();
  }
}

std::exception_ptr Session::carry_out(MatchedTransport& transport, const std::function<void(Transport&)>& work) {
  std::exception_ptr failure;
  if (call_) {
    guard_->enter(*call_);
    transport.enter(call_->function);
  }
  try {
    work(transport);
  } catch (...) {
    failure = std::current_exception();
  }
  // Such a failure may come from another rank that called something else.
  if (failure && has_code(failure, {ExitCode::kInternal, ExitCode::kPeerLost})) guard_->explain();
  const bool is_refusal = failure && has_code(failure, {ExitCode::kUsage, ExitCode::kConfiguration});
  if (call_) guard_->leave(!is_refusal);
  return failure;
}

// Waits until all ranks have come, as in any other call. The rest of the end has its own time limit (EndTimeout).
void Session::take_leave(MatchedTransport& transport) {
  guard_->enter({InterfaceCall::Function::kStop, 0});
  transport.enter(InterfaceCall::Function::kStop);
  transport.all_gather("");
  guard_.reset();
}

void Session::require_open() const {
  EAVE_CHECK(is_open_ && !is_closing_, "work belongs between the beginning and the end of a session");
}

void Session::refuse_fork() const {
  // A fork has no thread to do the work, and its copy of the mutex may be locked forever.
  if (getpid() != process_)
    throw Error(
        ExitCode::kUsage,
        "this process is a fork of a rank, as a worker of a data loader is, and no part of the job: call eave in "
        "the process that started it");
}

void Session::run(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work) {
  refuse_fork();
  std::unique_lock lock(mutex_);
  require_open();
  call_ = call;
  work_ = &work;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !work_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Session::run_here(const std::optional<InterfaceCall>& call, const std::function<void(Transport&)>& work) {
  refuse_fork();
  const std::lock_guard lock(mutex_);
  require_open();
  call_ = call;
  if (const std::exception_ptr failure = carry_out(*transport_, work)) std::rethrow_exception(failure);
}

AveragerJob Session::averager_job() {
  return {.tries_nccl = tries_nccl_,
          .warn =
              [this](const std::string& text) {
                if (warnings_.insert(text).second) eave::warn(text);
              },
          .watch =
              [this](std::shared_ptr<const CallRecord> calls) {
                device_calls_ = std::move(calls);
                guard_->device_calls().show(device_calls_);
              },
          .lent = &lent_};
}

void Session::set_limit(const WatchdogLimit& limit) {
  if (limit.seconds == limit_.seconds) return;
  limit_ = limit;
  guard_.reset();
  guard_ = std::make_unique<JobGuard>(*transport_, *leave_, failures(), limit_, guards_++);
  guard_->device_calls().show(device_calls_);
  if (call_) guard_->enter(*call_);
}

void Session::abort(ExitCode code) noexcept {
  if (!transport_ || size_ == 1) return;
  if (failures_ && noted_) failures_->tell(*noted_);
  transport_->abort(code);
}

void Session::close() {
  if (!thread_.joinable() || getpid() != process_) return;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

}  // namespace eave
