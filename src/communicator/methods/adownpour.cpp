// ADOWNPOUR (Zhang, Choromanska, LeCun 2015, section 5): DOWNPOUR, whose center is averaged for evaluation.
//
//   as in downpour.cpp;   after update t = 1, 2 ... of the center:  z <- (1 - a) z + a c,  a = 1/(t + 1),
// so z is the mean of c_0 ... c_t. t counts the updates of each shard, by whichever worker. Workers never see z.
//
// Rounds and bytes are DOWNPOUR's: z is kept where c is, with what float32 drops of it (move_average), so the shards
// take three times its memory. Evaluated is z. Deterministic in round-robin order and in a replay.
#include "communicator/downpour_worker.h"

namespace eave {

CommunicatorKind describe_communicator_adownpour() {
  return {"adownpour",
          "downpour; evaluated is the mean of all centers so far",
          {.averages_gradients = false, .has_center = true},
          downpour_options(),
          [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
            return std::make_unique<DownpourWorker>(context, MovingAverage());
          }};
}

}  // namespace eave
