// Requests to one rank: what workers ask of a center.
#pragma once

#include <cstdint>

#include "eave/slice.h"

namespace eave {

// What an owner does with requests to it; e.g. keeps shards of a center.
class Service {
 public:
  virtual ~Service() = default;
  // `values` came from rank `from` under `key`, whole; they become the reply, in place. One call at a time per owner,
  // in any thread, for as long as the owner computes or waits; it must not call the transport. False: it is not this
  // request's turn, and `values` are untouched. It is offered again whenever another request to this owner has been
  // answered. What escapes it fails the owner's operations (threads: the sender's).
  virtual bool answer(int from, std::int64_t key, Slice values) = 0;
};

struct ServiceRequest {
  int owner = 0;  // may be the rank that sends it
  std::int64_t key = 0;
  Slice values;
};

}  // namespace eave
