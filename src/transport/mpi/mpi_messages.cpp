#include "transport/mpi/mpi_messages.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "transport/core/backoff.h"
#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

constexpr int kTags = 64;

// MPI_Request is a pointer or an int.
static_assert(sizeof(MPI_Request) <= sizeof(std::uintptr_t));

std::uintptr_t name_of(const MPI_Request& request) {
  std::uintptr_t name = 0;
  std::memcpy(&name, &request, sizeof request);
  return name;
}

MPI_Request request_of(std::uintptr_t name) {
  MPI_Request request;
  std::memcpy(&request, &name, sizeof request);
  return request;
}

template <int (*ask)(MPI_Comm, int*)>
int ask_mpi(MPI_Comm communicator, std::mutex& in_mpi) {
  const std::lock_guard lock(in_mpi);
  int answer = 0;
  EAVE_MPI(ask(communicator, &answer));
  return answer;
}

}  // namespace

MpiMessages::MpiMessages(MPI_Comm communicator, std::shared_ptr<std::mutex> in_mpi)
    : Messages(ask_mpi<MPI_Comm_rank>(communicator, *in_mpi), ask_mpi<MPI_Comm_size>(communicator, *in_mpi), in_mpi),
      communicator_(communicator) {
  const std::lock_guard lock(mutex());
  int found = 0;
  int* most = nullptr;
  EAVE_MPI(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, &most, &found));
  if (found) lengths_ = (static_cast<std::size_t>(*most) + 1) / kTags;
}

// The length is part of the tag, so that a piece of another length does not match.
int MpiMessages::tag_with(int tag, std::size_t length) const {
  return tag + kTags * static_cast<int>(length % lengths_);
}

std::uintptr_t MpiMessages::send_piece(ConstBytes bytes, int to, Tag tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  EAVE_MPI(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag_with(tag.number, bytes.size()),
                     communicator_, &request));
  return name_of(request);
}

std::uintptr_t MpiMessages::receive_piece(Bytes bytes, int from, Tag tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  EAVE_MPI(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag_with(tag.number, bytes.size()),
                     communicator_, &request));
  return name_of(request);
}

bool MpiMessages::advance(Requests& requests) {
  if (requests.empty()) return false;
  const std::lock_guard lock(mutex());
  const std::size_t before = requests.size();
  int done = 1;
  while (!requests.empty() && done) {
    MPI_Request request = request_of(requests.back());
    EAVE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done) requests.pop_back();
  }
  return requests.size() < before;
}

void MpiMessages::await_any(Bytes bytes, int tag) {
  const std::lock_guard lock(mutex());
  EAVE_MPI(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, MPI_ANY_SOURCE,
                     tag_with(tag, bytes.size()), communicator_, &coming_));
}

std::optional<int> MpiMessages::take_any() {
  const std::lock_guard lock(mutex());
  int done = 0;
  MPI_Status status;
  EAVE_MPI(MPI_Test(&coming_, &done, &status));
  return done ? std::optional(status.MPI_SOURCE) : std::nullopt;
}

// A destructor may call it, so errors are ignored.
void MpiMessages::stop_awaiting() noexcept {
  const std::lock_guard lock(mutex());
  MPI_Cancel(&coming_);
  MPI_Wait(&coming_, MPI_STATUS_IGNORE);
}

void MpiMessages::pause(std::chrono::nanoseconds at_most) { std::this_thread::sleep_for(at_most); }

std::unique_ptr<Messages> MpiMessages::split(int part) {
  {
    const std::lock_guard lock(mutex());
    if (split_ != MPI_COMM_NULL) EAVE_MPI(MPI_Comm_free(&split_));
    EAVE_MPI(MPI_Comm_split(communicator_, part < 0 ? MPI_UNDEFINED : part, rank(), &split_));
    if (split_ == MPI_COMM_NULL) return nullptr;
    EAVE_MPI(MPI_Comm_set_errhandler(split_, MPI_ERRORS_RETURN));
  }
  return std::make_unique<MpiMessages>(split_, shared_mutex());
}

void MpiMessages::abort(ExitCode code) noexcept {
  // MPI_Abort may block when the network is gone.
  try {
    std::thread([code] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      std::_Exit(static_cast<int>(code));
    }).detach();
  } catch (const std::system_error&) {
    std::_Exit(static_cast<int>(code));  // no thread to be had; the launcher ends the other ranks
  }
  if (try_lock_within(mutex(), std::chrono::seconds(1))) MPI_Abort(communicator_, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace eave
