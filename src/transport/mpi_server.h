// The owner's side of requests between processes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "eave/transport.h"
#include "transport/mpi_messages.h"
#include "transport/mpi_request.h"

namespace eave {

// Receives requests into buffers of its own, has them answered and sends the buffers back. Moves only inside attend(),
// which the communication thread calls whenever it would wait. Buffers are used again: as many are kept as requests
// were ever open at once, at most kRequestWindow per rank.
//
// Why not MPI's one-sided operations: over TCP they stand still while the owner computes.
class MpiServer {
 public:
  explicit MpiServer(MpiMessages& messages);
  MpiServer(const MpiServer&) = delete;
  MpiServer& operator=(const MpiServer&) = delete;
  ~MpiServer();

  void open(Service* service);
  // When no rank has a request open: waits until the last replies have left.
  void close();
  bool is_open() const { return is_open_; }
  void withdraw() noexcept;  // in any thread: the service is not called any more
  bool is_withdrawn();       // and no other is there

  // Does what can be done without waiting. Tells whether anything was.
  bool attend();
  // A request of this rank to itself. False: not its turn.
  bool answer_own(const ServiceRequest& request);
  // So far. What is not its turn need not be offered again before the number changes.
  std::int64_t answers() const { return answers_; }

 private:
  // A request of another rank.
  struct Visit {
    enum class Stage { kComing, kWaiting, kLeaving };
    Stage stage = Stage::kComing;
    int from = 0;
    MpiRequestHeader header;
    std::vector<float> buffer;
    MpiMessages::Requests messages;
    std::int64_t refused_at = -1;  // answers() when it was last offered
    Slice values() { return Slice(buffer).first(header.count); }
  };

  void await_header();
  bool take_header();
  void admit(int from);
  bool move(Visit& visit);
  bool offer(Visit& visit);
  bool answer(int from, std::int64_t key, Slice values);

  MpiMessages& messages_;
  const std::size_t most_visits_;
  bool is_open_ = false;
  MpiRequestHeader header_;  // being received
  MPI_Request coming_ = MPI_REQUEST_NULL;
  std::vector<std::unique_ptr<Visit>> visits_, free_;
  std::int64_t answers_ = 0;
  std::mutex service_mutex_;
  Service* service_ = nullptr;
  bool is_withdrawn_ = false;
};

}  // namespace eave
