// Words between processes, by messages of MPI on a communicator of their own.
#pragma once

#include <mpi.h>

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "eave/transport.h"

namespace eave {

// Calls MPI only when it gets hold of in_mpi within some tens of microseconds: a thread that is stuck in MPI keeps it
// for good. What could not be sent then leaves with a later call.
class MpiControl final : public ControlChannel {
 public:
  // Collective, on a communicator with MPI_ERRORS_RETURN set, which is duplicated.
  MpiControl(MPI_Comm job, std::shared_ptr<std::timed_mutex> in_mpi);
  MpiControl(const MpiControl&) = delete;
  MpiControl& operator=(const MpiControl&) = delete;

  void post(int to, const ControlMessage& message) override;
  bool poll(ControlMessage& message, int& from) override;

  // Collective, when no thread calls the channel any more: takes what is still under way, so that MPI can end.
  void close();

 private:
  struct Outgoing {
    int to;
    ControlMessage message;
    MPI_Request request = MPI_REQUEST_NULL;
    bool has_left = false;
  };

  bool enter();  // true: in_mpi is held
  void send_all();
  bool take(ControlMessage& message, int& from);

  const std::shared_ptr<std::timed_mutex> in_mpi_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::vector<int> posted_;  // to each rank
  int taken_ = 0;
  std::list<Outgoing> outgoing_;  // which stay where they are until MPI has taken them
};

}  // namespace eave
