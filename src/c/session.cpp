#include "c/session.h"

#include <algorithm>
#include <utility>

#include "base/start_thread.h"

namespace eave {
namespace {

const TransportKind& find_transport(const std::string& name) {
  if (const int tasks = tasks_without_mpi(); tasks > 1) throw refusal_of_tasks(tasks);
  const std::string wanted = name != "auto" ? name : started_by_launcher() ? "mpi" : "loopback";
  std::string names = "auto";
  for (const TransportKind& kind : transport_kinds()) {
    if (!kind.is_launched && kind.name != "loopback") continue;
    if (kind.name == wanted) return kind;
    names += ", " + kind.name;
  }
  throw Error(ExitCode::kUsage, "no transport '" + wanted + "' for ranks that are processes; there are: " + names);
}

}  // namespace

Session::Session(const std::string& transport) {
  const TransportKind& kind = find_transport(transport);
  thread_ = start_thread("for communication", [this, &kind] {
    kind.run(0, [this](Transport& ranks) { attend(ranks); });
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_open_ || has_ended_; });
  if (is_open_) return;
  lock.unlock();
  thread_.join();
  throw Error(ExitCode::kPeerLost, "the ranks of the job did not come together; why stands on standard error");
}

Session::~Session() { close(); }

void Session::attend(Transport& transport) {
  std::unique_lock lock(mutex_);
  rank_ = transport.rank();
  size_ = transport.size();
  is_open_ = true;
  changed_.notify_all();
  while (true) {
    changed_.wait(lock, [this] { return work_ || is_closing_; });
    const bool is_end = !work_;
    lock.unlock();
    if (is_end) {
      transport.all_gather("");  // what comes after has a limit of time; until here ranks may take as long as they like
      return;
    }
    std::exception_ptr failure;
    try {
      (*work_)(transport);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    work_ = nullptr;
    changed_.notify_all();
  }
}

void Session::run(const std::function<void(Transport&)>& work) {
  std::unique_lock lock(mutex_);
  EAVE_CHECK(is_open_ && !is_closing_, "work belongs between the beginning and the end of a session");
  work_ = &work;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !work_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Session::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

}  // namespace eave
