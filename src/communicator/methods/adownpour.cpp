// ADOWNPOUR (Zhang, Choromanska, LeCun 2015, section 5): DOWNPOUR that evaluates the mean of all its centers.
//
//   as in downpour.cpp;   after update t = 1, 2 ... of the center:  z <- (1 - a) z + a c,  a = 1/(t + 1)
//
// So z is the mean of c_0 ... c_t. Each shard counts its own updates t, from all workers together. The consensus is z;
// workers never receive it.
//
// Rounds and bytes are those of DOWNPOUR. Each owner of a shard keeps z beside c, and beside z its float32 rounding
// errors (move_average). So shards take three times the memory of DOWNPOUR's. A run is deterministic in round-robin
// order and in a replay.
#include "communicator/center/downpour_worker.h"

namespace eave {

CommunicatorKind describe_communicator_adownpour() {
  return {"adownpour",
          "downpour that evaluates the mean of all centers so far",
          {.exchanges = ExchangePattern::kRequests, .has_center = true, .compresses = true},
          downpour_options(),
          [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
            return std::make_unique<DownpourWorker>(context, MovingAverage());
          }};
}

}  // namespace eave
