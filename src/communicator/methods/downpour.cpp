// DOWNPOUR: workers push their movement to a center asynchronously, without an elastic force (Dean et al. 2012, as in
// Zhang, Choromanska, LeCun 2015, section 5 and algorithm 3). Every rank is a worker that runs at its own pace. The
// ranks share out the shards of the center. With --center-ranks, the last ranks keep all shards and do not train.
//
//   x_i <- x_i - step_i;   after every tau-th step:  c <- c + (x_i - b_i);  x_i <- c;  b_i <- c
//
// b_i is the center as worker i last pulled it. With plain SGD, x_i - b_i is the sum of -eta g_i that the paper
// accumulates. With momentum or AdamW, x_i - b_i is how far the optimizer has moved x_i. The paper does not have this
// case.
//
// Under Nesterov momentum x_i is the iterate y_i + lr mu v_i, at the rate of the step before. The worker holds y_i. It
// pushes the movement of x_i and goes on with x_i = c and its velocity, so at y_i = c - lr mu v_i. (local-sgd and the
// outer methods average the y_i.)
//
// An exchange is atomic for each shard. It takes place between two steps. The worker waits for the reply, but for no
// other worker. If the steps of a run are no multiple of tau, c lacks the movement of the last steps.
//
// Each exchange is one round: a worker sends a request with x_i - b_i to each shard, which answers with c. With M bytes
// of parameters that is 2 M bytes per worker and exchange. The shards that the worker keeps itself, a share of 1/p,
// need no network. The consensus is c. A run is deterministic in round-robin order and in a replay.
//
// Instability: each worker moves c by its whole displacement, so p workers move c p times as far as one worker would in
// tau steps. Zhang et al. (section 5.2) report that all methods of this family become highly unstable at tau of 16 and
// 64 with p = 4. downpour_worker.h derives the limit that the card states.
#include "communicator/center/downpour_worker.h"

namespace eave {

CommunicatorKind describe_communicator_downpour() {
  return {"downpour",
          "asynchronous pushes: each worker adds its movement to a center and goes on from the center",
          {.exchanges = ExchangePattern::kRequests, .has_center = true, .resets_to_center = true, .compresses = true},
          downpour_options(),
          [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
            return std::make_unique<DownpourWorker>(context);
          }};
}

}  // namespace eave
