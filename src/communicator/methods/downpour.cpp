// DOWNPOUR (Dean et al. 2012, as in Zhang, Choromanska, LeCun 2015, section 5 and algorithm 3): asynchronous pushes to
// a center, without an elastic force. Every rank is a worker with a clock of its own; the center is cut into shards
// that the ranks keep (or --center-ranks, which do not train).
//
//   x_i <- x_i - step_i;   after every tau-th step:  c <- c + (x_i - b_i);  x_i <- c;  b_i <- c,
// b_i being the center as worker i pulled it last. With plain SGD x_i - b_i is what the publication accumulates, the
// sum of -eta g_i; with momentum or AdamW it is what these have moved x_i by, which is an extension of it.
//
// Under Nesterov momentum x_i is the iterate, y_i + lr mu v_i at the rate of the step before, and not the point y_i
// that is held: what it has moved by is pushed, and the worker goes on with x_i = c and its velocity, so at y_i = c -
// lr mu v_i. (local-sgd and the outer methods average the points that are held.)
//
// An exchange is atomic for each shard. It stands between two steps: a worker needs the reply before it can go on, and
// waits for it, but for no other worker. What a worker has not pushed at the end of a run (steps that are no multiple
// of tau) is not in c.
//
// Rounds: one per exchange, a request of x_i - b_i per shard, answered by c: 2 M bytes per worker and exchange for M
// bytes of parameters, of which the share of shards that the worker keeps itself, 1/p, stays off the wire. Evaluated is
// c. Deterministic in round-robin order and in a replay.
//
// Instability: each worker moves c by its whole displacement, so p workers move it p times as far as one does in tau
// steps. Zhang et al. (section 5.2) report that all methods of this family become highly unstable at tau of 16 and 64
// with p = 4; the limit in the card is derived in round_robin_limit.h.
#include "communicator/downpour_worker.h"

namespace eave {

CommunicatorKind describe_communicator_downpour() {
  return {"downpour",
          "asynchronous pushes: workers add what they moved by to a center and go on from there",
          {.has_center = true, .resets_to_center = true},
          downpour_options(),
          [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
            return std::make_unique<DownpourWorker>(context);
          }};
}

}  // namespace eave
