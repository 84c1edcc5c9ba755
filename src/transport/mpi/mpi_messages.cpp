#include "transport/mpi/mpi_messages.h"

#include <algorithm>
#include <utility>

#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

constexpr int kTags = 64;

}  // namespace

MpiMessages::MpiMessages(MPI_Comm communicator, std::shared_ptr<std::timed_mutex> in_mpi)
    : communicator_(communicator), in_mpi_(std::move(in_mpi)) {
  const std::lock_guard lock(*in_mpi_);
  EAVE_MPI(MPI_Comm_rank(communicator_, &rank_));
  EAVE_MPI(MPI_Comm_size(communicator_, &size_));
  int found = 0;
  int* most = nullptr;
  EAVE_MPI(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, &most, &found));
  if (found) lengths_ = (static_cast<std::size_t>(*most) + 1) / kTags;
}

int MpiMessages::tag_with(int tag, std::size_t length) const {
  return tag + kTags * static_cast<int>(length % lengths_);
}

void MpiMessages::send(ConstBytes bytes, int to, int tag, Requests& requests, std::size_t piece) {
  std::size_t at = 0;
  do {
    const std::size_t length = std::min(piece, bytes.size() - at);
    EAVE_MPI(MPI_Isend(bytes.data() + at, static_cast<int>(length), MPI_BYTE, to, tag_with(tag, length), communicator_,
                       &requests.emplace_back()));
    at += length;
  } while (at < bytes.size());
}

void MpiMessages::receive(Bytes bytes, int from, int tag, Requests& requests, std::size_t piece) {
  std::size_t at = 0;
  do {
    const std::size_t length = std::min(piece, bytes.size() - at);
    EAVE_MPI(MPI_Irecv(bytes.data() + at, static_cast<int>(length), MPI_BYTE, from, tag_with(tag, length),
                       communicator_, &requests.emplace_back()));
    at += length;
  } while (at < bytes.size());
}

bool MpiMessages::advance(Requests& requests) {
  if (requests.empty()) return false;
  const std::lock_guard lock(*in_mpi_);
  const std::size_t before = requests.size();
  int done = 1;
  while (!requests.empty() && done) {
    EAVE_MPI(MPI_Test(&requests.back(), &done, MPI_STATUS_IGNORE));
    if (done) requests.pop_back();
  }
  return requests.size() < before;
}

}  // namespace eave
