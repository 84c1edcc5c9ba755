// Messages of any length between the ranks of an MPI communicator.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "transport/messages/messages.h"

namespace eave {

// The mutex makes MPI's MPI_THREAD_SERIALIZED enough.
class MpiMessages final : public Messages {
 public:
  // `communicator` is not owned and has MPI_ERRORS_RETURN set. Nobody else uses it.
  MpiMessages(MPI_Comm communicator, std::shared_ptr<std::mutex> in_mpi);

  bool advance(Requests& requests) override;
  void await_any(Bytes bytes, int tag) override;
  std::optional<int> take_any() override;
  void stop_awaiting() noexcept override;
  void pause(std::chrono::nanoseconds at_most) override;  // MPI cannot be waited for without a busy core: sleeps
  // MPI_Comm_free may wait for the other ranks of the old part.
  std::unique_ptr<Messages> split(int part) override;
  void abort(ExitCode code) noexcept override;  // does not return

 private:
  std::uintptr_t send_piece(ConstBytes bytes, int to, Tag tag) override;
  std::uintptr_t receive_piece(Bytes bytes, int from, Tag tag) override;
  // The tag that MPI gets for a message of `length` bytes. It includes the length, so that ranks that expect different
  // lengths do not receive each other's messages. Reason: if a receive is too short, Open MPI 4.1 writes past its end
  // all of a message of more than 4 KiB from the same host. It reports the truncation only afterwards.
  int tag_with(int tag, std::size_t length) const;

  const MPI_Comm communicator_;
  std::size_t lengths_ = 1;  // how many lengths a tag can tell apart
  MPI_Request coming_ = MPI_REQUEST_NULL;
  MPI_Comm split_ = MPI_COMM_NULL;  // the communicator of this rank's part
};

}  // namespace eave
