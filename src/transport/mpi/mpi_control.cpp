#include "transport/mpi/mpi_control.h"

#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "eave/check.h"
#include "transport/core/backoff.h"
#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

constexpr int kTag = 1;
constexpr int kTries = 4;  // attempts to get in_mpi in one call of the channel

}  // namespace

MpiControl::MpiControl(MPI_Comm job, std::shared_ptr<std::mutex> in_mpi) : in_mpi_(std::move(in_mpi)) {
  int size = 0;
  EAVE_MPI(MPI_Comm_dup(job, &communicator_));
  EAVE_MPI(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN));
  EAVE_MPI(MPI_Comm_size(communicator_, &size));
  posted_.resize(static_cast<std::size_t>(size));
}

bool MpiControl::enter() {
  for (int tries = 0; tries < kTries; ++tries) {
    if (in_mpi_->try_lock()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
  return false;
}

void MpiControl::post(int to, const ControlMessage& message) {
  EAVE_CHECK(to >= 0 && to < static_cast<int>(posted_.size()), "a message to rank " + std::to_string(to));
  outgoing_.push_back({to, message});
  ++posted_[static_cast<std::size_t>(to)];
  if (!enter()) return;
  const std::lock_guard lock(*in_mpi_, std::adopt_lock);
  send_all();
}

bool MpiControl::poll(ControlMessage& message, int& from) {
  if (!enter()) return false;
  const std::lock_guard lock(*in_mpi_, std::adopt_lock);
  send_all();
  return take(message, from);
}

// MPI sends such small messages at once, whether or not the receiver polls. MPI_Test only reports that they have left.
void MpiControl::send_all() {
  for (auto each = outgoing_.begin(); each != outgoing_.end();) {
    if (!each->has_left) {
      EAVE_MPI(
          MPI_Isend(&each->message, sizeof each->message, MPI_BYTE, each->to, kTag, communicator_, &each->request));
      each->has_left = true;
    }
    int done = 0;
    EAVE_MPI(MPI_Test(&each->request, &done, MPI_STATUS_IGNORE));
    each = done ? outgoing_.erase(each) : std::next(each);
  }
}

bool MpiControl::take(ControlMessage& message, int& from) {
  int has_come = 0;
  MPI_Message come = MPI_MESSAGE_NULL;
  MPI_Status status;
  EAVE_MPI(MPI_Improbe(MPI_ANY_SOURCE, kTag, communicator_, &has_come, &come, &status));
  if (!has_come) return false;
  EAVE_MPI(MPI_Mrecv(&message, sizeof message, MPI_BYTE, &come, &status));
  from = status.MPI_SOURCE;
  ++taken_;
  return true;
}

void MpiControl::close() {
  std::vector<int> coming(posted_.size());
  EAVE_MPI(MPI_Alltoall(posted_.data(), 1, MPI_INT, coming.data(), 1, MPI_INT, communicator_));
  const int all = std::accumulate(coming.begin(), coming.end(), 0);
  ControlMessage message;
  int from = 0;
  for (const Backoff backoff; taken_ < all || !outgoing_.empty(); backoff.sleep()) {
    send_all();
    while (take(message, from)) continue;
  }
  EAVE_MPI(MPI_Comm_free(&communicator_));
}

}  // namespace eave
