#include "transport/messages/requests.h"

#include <algorithm>
#include <utility>

#include "eave/check.h"

namespace eave {
namespace {

// withdraw() in another thread ends no pause.
constexpr std::chrono::milliseconds kLongestPause(100);

}  // namespace

RequestServer::RequestServer(Messages& messages)
    : messages_(messages), most_incoming_(static_cast<std::size_t>(kRequestWindow * (messages.size() - 1))) {
  incoming_.reserve(most_incoming_);
  free_.reserve(most_incoming_);
}

RequestServer::~RequestServer() {
  if (is_open_) messages_.stop_awaiting();
}

void RequestServer::open(Service* service) {
  {
    const std::lock_guard lock(service_mutex_);
    service_ = service;
    is_withdrawn_ = false;
  }
  is_open_ = true;
  await_header();
}

void RequestServer::close() {
  if (!is_open_) return;
  for (Backoff backoff; !incoming_.empty(); messages_.pause(backoff.delay())) poll_requests();
  messages_.stop_awaiting();
  is_open_ = false;
}

void RequestServer::withdraw() noexcept {
  const std::lock_guard lock(service_mutex_);
  is_withdrawn_ = is_withdrawn_ || service_;
  service_ = nullptr;
}

bool RequestServer::is_withdrawn() {
  const std::lock_guard lock(service_mutex_);
  return is_withdrawn_;
}

void RequestServer::await_header() {
  messages_.await_any(std::as_writable_bytes(std::span(&header_, 1)), kRequestHeaderTag);
}

bool RequestServer::poll_requests() {
  if (!is_open_) return false;
  bool moved = false;
  // A sender may have its reply, and send its next request, before the library reports here that the reply has left.
  // The limit makes such a request wait, so that it takes no more memory.
  while (incoming_.size() < most_incoming_ && take_header()) moved = true;
  for (std::size_t k = 0; k < incoming_.size(); ++k) moved |= move(*incoming_[k]);
  const auto gone = std::partition(incoming_.begin(), incoming_.end(), [](const auto& request) {
    return request->stage != IncomingRequest::Stage::kLeaving || !request->messages.empty();
  });
  std::move(gone, incoming_.end(), std::back_inserter(free_));
  incoming_.erase(gone, incoming_.end());
  return moved;
}

bool RequestServer::take_header() {
  const std::optional<int> from = messages_.take_any();
  if (!from) return false;
  admit(*from);
  await_header();
  return true;
}

void RequestServer::admit(int from) {
  if (free_.empty()) free_.push_back(std::make_unique<IncomingRequest>());
  IncomingRequest& request = *incoming_.emplace_back(std::move(free_.back()));
  free_.pop_back();
  request.stage = IncomingRequest::Stage::kComing;
  request.from = from;
  request.header = header_;
  request.refused_at = -1;
  if (request.buffer.size() < header_.count) request.buffer.resize(header_.count);
  const std::lock_guard lock(messages_.mutex());
  messages_.receive(std::as_writable_bytes(request.values()), from, tag_of_values(header_.slot), request.messages,
                    kRequestPiece);
}

bool RequestServer::move(IncomingRequest& request) {
  const bool advanced = messages_.advance(request.messages);
  if (request.stage == IncomingRequest::Stage::kComing && request.messages.empty())
    request.stage = IncomingRequest::Stage::kWaiting;
  return (request.stage == IncomingRequest::Stage::kWaiting && offer(request)) || advanced;
}

bool RequestServer::offer(IncomingRequest& request) {
  if (request.refused_at == answers_) return false;
  request.refused_at = answers_;
  if (!answer(request.from, request.header.key, request.values())) return false;
  request.stage = IncomingRequest::Stage::kLeaving;
  const std::lock_guard lock(messages_.mutex());
  messages_.send(std::as_bytes(request.values()), request.from, tag_of_reply(request.header.slot), request.messages,
                 kRequestPiece);
  return true;
}

bool RequestServer::answer_own(const ServiceRequest& request) {
  return answer(messages_.rank(), request.key, request.values);
}

bool RequestServer::answer(int from, std::int64_t key, Slice values) {
  const std::lock_guard lock(service_mutex_);
  if (!service_ || !service_->answer(from, key, values)) return false;
  ++answers_;
  return true;
}

void Requester::carry_out(std::span<const ServiceRequest> requests, Backoff& backoff) {
  own_.clear();
  to_others_.clear();
  own_refused_at_ = -1;
  for (std::size_t k = requests.size(); k-- > 0;)
    (requests[k].owner == messages_.rank() ? own_ : to_others_).push_back(&requests[k]);
  backoff.reset();
  while (!own_.empty() || !to_others_.empty() || in_flight_ > 0) {
    // This rank is failing and answers nothing more. The replies that it waits for may depend on those answers.
    if (server_.is_withdrawn()) throw Error(ExitCode::kPeerLost, "requests of a rank that has failed are not answered");
    bool moved = start_next();
    moved |= server_.poll_requests();
    for (OutgoingRequest& outgoing : outgoing_) moved |= move(outgoing);
    moved |= answer_one_of_own();
    if (moved) {
      backoff.event();
    } else {
      messages_.pause(messages_.ends_pauses() ? kLongestPause : backoff.delay());
    }
  }
}

bool Requester::start_next() {
  bool started = false;
  for (OutgoingRequest& outgoing : outgoing_) {
    if (outgoing.stage != OutgoingRequest::Stage::kFree || to_others_.empty()) continue;
    start(outgoing, *to_others_.back());
    to_others_.pop_back();
    started = true;
  }
  return started;
}

void Requester::start(OutgoingRequest& outgoing, const ServiceRequest& request) {
  const auto slot = static_cast<int>(&outgoing - outgoing_.data());
  outgoing.stage = OutgoingRequest::Stage::kGoing;
  outgoing.request = &request;
  outgoing.header = {request.key, request.values.size(), slot, 0};
  ++in_flight_;
  const std::lock_guard lock(messages_.mutex());
  messages_.send(std::as_bytes(std::span(&outgoing.header, 1)), request.owner, kRequestHeaderTag, outgoing.messages);
  messages_.send(std::as_bytes(request.values), request.owner, tag_of_values(slot), outgoing.messages, kRequestPiece);
}

// The reply overwrites the values that are sent, so receive it only when they have left.
bool Requester::move(OutgoingRequest& outgoing) {
  if (outgoing.stage == OutgoingRequest::Stage::kFree) return false;
  const bool advanced = messages_.advance(outgoing.messages);
  if (!outgoing.messages.empty()) return advanced;
  if (outgoing.stage == OutgoingRequest::Stage::kReturning) {
    outgoing.stage = OutgoingRequest::Stage::kFree;
    --in_flight_;
    return true;
  }
  outgoing.stage = OutgoingRequest::Stage::kReturning;
  const std::lock_guard lock(messages_.mutex());
  messages_.receive(std::as_writable_bytes(outgoing.request->values), outgoing.request->owner,
                    tag_of_reply(outgoing.header.slot), outgoing.messages, kRequestPiece);
  return true;
}

// One at a time, so that other ranks' requests and replies move in between.
bool Requester::answer_one_of_own() {
  if (own_.empty() || own_refused_at_ == server_.answers()) return false;
  const auto answered =
      std::find_if(own_.rbegin(), own_.rend(), [this](const auto* each) { return server_.answer_own(*each); });
  if (answered == own_.rend()) {
    own_refused_at_ = server_.answers();
    return false;
  }
  own_.erase(std::next(answered).base());
  return true;
}

}  // namespace eave
