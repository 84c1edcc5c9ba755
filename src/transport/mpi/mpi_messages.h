// Messages of any length between the ranks of an MPI communicator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace eave {

// One thread sends and receives. Any thread of the process may call MPI while it holds in_mpi()
// (MPI_THREAD_SERIALIZED); all of them share this mutex. It is held around calls, not while waiting for a message.
// Messages of one tag from one rank to another keep their order.
class MpiMessages {
 public:
  using Bytes = std::span<std::byte>;
  using ConstBytes = std::span<const std::byte>;
  using Requests = std::vector<MPI_Request>;  // in flight; their bytes stay alive until completed

  // `communicator` is not owned and has MPI_ERRORS_RETURN set. Nobody else uses it.
  MpiMessages(MPI_Comm communicator, std::shared_ptr<std::timed_mutex> in_mpi);
  int rank() const { return rank_; }
  int size() const { return size_; }
  MPI_Comm communicator() const { return communicator_; }
  std::timed_mutex& in_mpi() { return *in_mpi_; }

  // The caller holds in_mpi(). Long messages go in pieces of at most `piece` bytes, the same on both sides. Zero bytes
  // are a message too.
  void send(ConstBytes bytes, int to, int tag, Requests& requests, std::size_t piece = kLongest);
  void receive(Bytes bytes, int from, int tag, Requests& requests, std::size_t piece = kLongest);
  // The tag that MPI gets for a message of `length` bytes. It includes the length, so that ranks that expect different
  // lengths do not receive each other's messages. Reason: if a receive is too short, Open MPI 4.1 writes past its end
  // all of a message of more than 4 KiB from the same host. It reports the truncation only afterwards. `tag` < 64.
  int tag_with(int tag, std::size_t length) const;

  // Lets MPI progress, and removes completed requests. Returns whether it removed any. Takes in_mpi().
  bool advance(Requests& requests);

 private:
  static constexpr std::size_t kLongest = std::size_t{1} << 20;  // bytes per message, which MPI counts in int

  const MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  std::size_t lengths_ = 1;  // how many lengths a tag can tell apart
  const std::shared_ptr<std::timed_mutex> in_mpi_;
};

}  // namespace eave
