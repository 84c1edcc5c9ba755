#include "transport/mpi/mpi_requester.h"

#include <algorithm>

#include "eave/check.h"

namespace eave {

void MpiRequester::carry_out(std::span<const ServiceRequest> requests, Patience& patience) {
  own_.clear();
  to_others_.clear();
  own_refused_at_ = -1;
  for (std::size_t k = requests.size(); k-- > 0;)
    (requests[k].owner == messages_.rank() ? own_ : to_others_).push_back(&requests[k]);
  patience.renew();
  while (!own_.empty() || !to_others_.empty() || in_flight_ > 0) {
    // This rank is failing and answers nothing more. The replies that it waits for may depend on those answers.
    if (server_.is_withdrawn()) throw Error(ExitCode::kPeerLost, "requests of a rank that has failed are not answered");
    bool moved = start_next();
    moved |= server_.attend();
    for (Flight& flight : flights_) moved |= move(flight);
    moved |= answer_one_of_own();
    if (moved) {
      patience.renew();
    } else {
      patience.sleep();
    }
  }
}

bool MpiRequester::start_next() {
  bool started = false;
  for (Flight& flight : flights_) {
    if (flight.stage != Flight::Stage::kFree || to_others_.empty()) continue;
    start(flight, *to_others_.back());
    to_others_.pop_back();
    started = true;
  }
  return started;
}

void MpiRequester::start(Flight& flight, const ServiceRequest& request) {
  const auto slot = static_cast<int>(&flight - flights_.data());
  flight.stage = Flight::Stage::kGoing;
  flight.request = &request;
  flight.header = {request.key, request.values.size(), slot};
  ++in_flight_;
  const std::lock_guard lock(messages_.in_mpi());
  messages_.send(std::as_bytes(std::span(&flight.header, 1)), request.owner, kRequestHeaderTag, flight.messages);
  messages_.send(std::as_bytes(request.values), request.owner, tag_of_values(slot), flight.messages, kRequestPiece);
}

// The reply overwrites the values that are sent, so receive it only when they have left.
bool MpiRequester::move(Flight& flight) {
  if (flight.stage == Flight::Stage::kFree) return false;
  const bool advanced = messages_.advance(flight.messages);
  if (!flight.messages.empty()) return advanced;
  if (flight.stage == Flight::Stage::kReturning) {
    flight.stage = Flight::Stage::kFree;
    --in_flight_;
    return true;
  }
  flight.stage = Flight::Stage::kReturning;
  const std::lock_guard lock(messages_.in_mpi());
  messages_.receive(std::as_writable_bytes(flight.request->values), flight.request->owner,
                    tag_of_reply(flight.header.slot), flight.messages, kRequestPiece);
  return true;
}

// One at a time, so that other ranks' requests and replies move in between.
bool MpiRequester::answer_one_of_own() {
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
