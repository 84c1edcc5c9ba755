// The owner's side of requests between processes.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "eave/transport.h"
#include "transport/mpi/mpi_messages.h"
#include "transport/mpi/mpi_request.h"

namespace eave {

// Receives requests into its own buffers, lets the service answer them in place, and sends the buffers back. It works
// only inside attend(), which the communication thread calls whenever it would wait. Buffers are reused: it keeps as
// many as requests were ever open at once, at most kRequestWindow per other rank.
//
// Why not MPI's one-sided operations: over TCP they make no progress while the owner computes.
class MpiServer {
 public:
  explicit MpiServer(MpiMessages& messages);
  MpiServer(const MpiServer&) = delete;
  MpiServer& operator=(const MpiServer&) = delete;
  ~MpiServer();

  // Answers requests by this service from now on. The service is not owned.
  void open(Service* service);
  // Call it when no rank has a request open. Waits until the last replies have left.
  void close();
  bool is_open() const { return is_open_; }
  void withdraw() noexcept;  // in any thread; the service is not called after it returns
  bool is_withdrawn();       // a service was withdrawn, and none opened since

  // Does what is possible without waiting. Returns whether anything moved.
  bool attend();
  // Answers a request of this rank to itself. False: it is not that request's turn.
  bool answer_own(const ServiceRequest& request);
  // How many answers were given so far. A request whose turn it was not needs no new offer before this number changes.
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
