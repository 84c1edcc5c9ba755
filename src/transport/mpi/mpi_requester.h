// The sender's side of requests between processes.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "eave/transport.h"
#include "transport/mpi/mpi_messages.h"
#include "transport/mpi/mpi_request.h"
#include "transport/mpi/mpi_server.h"
#include "transport/threads/patience.h"

namespace eave {

// Keeps up to kRequestWindow requests to other ranks in flight. Meanwhile it lets this rank's own service answer this
// rank's requests to itself and requests of other ranks. The communication thread uses it.
class MpiRequester {
 public:
  MpiRequester(MpiMessages& messages, MpiServer& server) : messages_(messages), server_(server) {}

  // Blocks until all requests have been answered.
  void carry_out(std::span<const ServiceRequest> requests, Patience& patience);

 private:
  struct Flight {
    enum class Stage { kFree, kGoing, kReturning };
    Stage stage = Stage::kFree;
    const ServiceRequest* request = nullptr;
    MpiRequestHeader header;
    MpiMessages::Requests messages;
  };

  bool start_next();
  void start(Flight& flight, const ServiceRequest& request);
  bool move(Flight& flight);
  bool answer_one_of_own();

  MpiMessages& messages_;
  MpiServer& server_;
  std::array<Flight, kRequestWindow> flights_;
  std::vector<const ServiceRequest*> to_others_, own_;  // not yet started or answered; the next one is at the end
  std::size_t in_flight_ = 0;
  std::int64_t own_refused_at_ = -1;
};

}  // namespace eave
