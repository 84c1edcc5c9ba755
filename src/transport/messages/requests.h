// Requests between processes: the side of the owner (RequestServer) and the side of the sender (Requester).
//
// A request is a header, then its values. The tag of the reply follows from the slot in the header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "eave/transport.h"
#include "transport/core/backoff.h"
#include "transport/messages/messages.h"

namespace eave {

struct RequestHeader {
  std::int64_t key = 0;
  std::uint64_t count = 0;
  std::int32_t slot = 0;  // index in the sender's window, which tells its requests in flight apart
  std::int32_t unused = 0;
};

constexpr int kRequestHeaderTag = 16;
// Requests in flight per sender. Enough to hide sending behind answering, and a bound for the owner's memory.
constexpr int kRequestWindow = 8;
inline int tag_of_values(int slot) { return kRequestHeaderTag + 1 + 2 * slot; }
inline int tag_of_reply(int slot) { return kRequestHeaderTag + 2 + 2 * slot; }

// Bytes per message. Longer values go in several messages.
constexpr std::size_t kRequestPiece = 60 * 1024;

// The owner's side. Receives requests into its own buffers, lets the service answer them in place, and sends the
// buffers back. It works only inside poll_requests(), which the communication thread calls whenever it would wait.
// Buffers are reused: it keeps as many as requests were ever open at once, at most kRequestWindow per other rank.
//
// Why not MPI's one-sided operations: over TCP they make no progress while the owner computes.
class RequestServer {
 public:
  explicit RequestServer(Messages& messages);
  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;
  ~RequestServer();

  // Answers requests by this service from now on. The service is not owned.
  void open(Service* service);
  // Call it when no rank has a request open. Waits until the last replies have left.
  void close();
  bool is_open() const { return is_open_; }
  void withdraw() noexcept;  // in any thread; the service is not called after it returns
  bool is_withdrawn();       // a service was withdrawn, and none opened since

  // Does what is possible without waiting. Returns whether anything moved.
  bool poll_requests();
  // Answers a request of this rank to itself. False: it is not that request's turn.
  bool answer_own(const ServiceRequest& request);
  // How many answers were given so far. A request whose turn it was not needs no new offer before this number changes.
  std::int64_t answers() const { return answers_; }

 private:
  // A request of another rank.
  struct IncomingRequest {
    enum class Stage { kComing, kWaiting, kLeaving };
    Stage stage = Stage::kComing;
    int from = 0;
    RequestHeader header;
    std::vector<float> buffer;
    Messages::Requests messages;
    std::int64_t refused_at = -1;  // answers() when it was last offered
    Slice values() { return Slice(buffer).first(header.count); }
  };

  void await_header();
  bool take_header();
  void admit(int from);
  bool move(IncomingRequest& request);
  bool offer(IncomingRequest& request);
  bool answer(int from, std::int64_t key, Slice values);

  Messages& messages_;
  const std::size_t most_incoming_;
  bool is_open_ = false;
  RequestHeader header_;  // being received
  std::vector<std::unique_ptr<IncomingRequest>> incoming_, free_;
  std::int64_t answers_ = 0;
  std::mutex service_mutex_;
  Service* service_ = nullptr;
  bool is_withdrawn_ = false;
};

// The sender's side. Keeps up to kRequestWindow requests to other ranks in flight. Meanwhile it lets this rank's own
// service answer this rank's requests to itself and requests of other ranks. The communication thread uses it.
class Requester {
 public:
  Requester(Messages& messages, RequestServer& server) : messages_(messages), server_(server) {}

  // Blocks until all requests have been answered.
  void carry_out(std::span<const ServiceRequest> requests, Backoff& backoff);

 private:
  struct OutgoingRequest {
    enum class Stage { kFree, kGoing, kReturning };
    Stage stage = Stage::kFree;
    const ServiceRequest* request = nullptr;
    RequestHeader header;
    Messages::Requests messages;
  };

  bool start_next();
  void start(OutgoingRequest& outgoing, const ServiceRequest& request);
  bool move(OutgoingRequest& outgoing);
  bool answer_one_of_own();

  Messages& messages_;
  RequestServer& server_;
  std::array<OutgoingRequest, kRequestWindow> outgoing_;
  std::vector<const ServiceRequest*> to_others_, own_;  // not yet started or answered; the next one is at the end
  std::size_t in_flight_ = 0;
  std::int64_t own_refused_at_ = -1;
};

}  // namespace eave
