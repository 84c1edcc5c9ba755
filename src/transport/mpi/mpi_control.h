// Control messages between processes, on an MPI communicator of their own.
#pragma once

#include <mpi.h>

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Calls MPI only if it gets in_mpi within some tens of microseconds, because a thread that hangs in MPI never releases
// in_mpi. A message that could not be sent leaves with a later call.
class MpiControl final : public ControlChannel {
 public:
  // Collective. Duplicates `job`, which has MPI_ERRORS_RETURN set.
  MpiControl(MPI_Comm job, std::shared_ptr<std::mutex> in_mpi);
  MpiControl(const MpiControl&) = delete;
  MpiControl& operator=(const MpiControl&) = delete;

  void post(int to, const ControlMessage& message) override;
  bool poll(ControlMessage& message, int& from) override;

  // Collective, after the last call of the channel on this rank. Receives what is still in flight, so that MPI can end.
  void close();

 private:
  struct Outgoing {
    int to;
    ControlMessage message;
    MPI_Request request = MPI_REQUEST_NULL;
    bool has_left = false;
  };

  bool enter();  // true: the caller holds in_mpi
  void send_all();
  bool take(ControlMessage& message, int& from);

  const std::shared_ptr<std::mutex> in_mpi_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::vector<int> posted_;  // how many messages, by rank
  int taken_ = 0;
  std::list<Outgoing> outgoing_;  // a list, because MPI needs messages that stay in place
};

}  // namespace eave
