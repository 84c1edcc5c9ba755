// Messages of any length between the ranks of an MPI communicator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace eave {

// One thread sends and receives, and whoever holds in_mpi() may call MPI (MPI_THREAD_SERIALIZED): it is held around
// calls, not while waiting for a message. All that call MPI in a process at a time share it. Messages of one tag from
// one rank to another keep their order.
class MpiMessages {
 public:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;
  using Requests = std::vector<MPI_Request>;  // in flight; the bytes stay alive until taken out

  // `communicator` is lent, has MPI_ERRORS_RETURN set, and is used by nobody else.
  MpiMessages(MPI_Comm communicator, std::shared_ptr<std::timed_mutex> in_mpi);
  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm communicator() const { return communicator_; }
  std::timed_mutex& in_mpi() { return *in_mpi_; }

  // The caller holds in_mpi(). Bytes go in pieces of at most `piece`, the same on both sides; none is a message too.
  void send(ConstBytes bytes, int to, int tag, Requests& requests, std::size_t piece = kLongest);
  void receive(Bytes bytes, int from, int tag, Requests& requests, std::size_t piece = kLongest);
  // What MPI is given as the tag of a message of `length` bytes: ranks that are out of step in length do not meet.
  // Open MPI 4.1 writes all of a message of more than 4 KiB from the same host into the memory of a shorter receive,
  // and reports the truncation afterwards. `tag` < 64.
  int tag_with(int tag, std::size_t length) const;

  // Lets MPI work, and takes out what is done. Tells whether anything was.
  bool advance(Requests& requests);

 private:
  static constexpr std::size_t kLongest = std::size_t{1} << 20;  // MPI counts in int

  const MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  std::size_t lengths_ = 1;  // that tags can tell apart
  const std::shared_ptr<std::timed_mutex> in_mpi_;
};

}  // namespace eave
