// MVADOWNPOUR (Zhang, Choromanska, LeCun 2015, section 5): DOWNPOUR that evaluates a moving average of its center.
//
//   as in downpour.cpp;   after each update of the center:  z <- (1 - a) z + a c,  a = --average-rate (paper: 0.001)
//
// With a = 1, z equals c, and the method is DOWNPOUR. The consensus is z; workers never receive it.
//
// Rounds and bytes are those of DOWNPOUR. Each owner of a shard keeps z beside c, and beside z its float32 rounding
// errors (move_average). So shards take three times the memory of DOWNPOUR's. A run is deterministic in round-robin
// order and in a replay.
#include "communicator/center/downpour_worker.h"
#include "communicator/support/local_steps.h"

namespace eave {
namespace {

std::vector<OptionSpec> mvadownpour_options() {
  std::vector<OptionSpec> all = downpour_options();
  all.push_back(average_rate_option());
  return all;
}

}  // namespace

CommunicatorKind describe_communicator_mvadownpour() {
  return {"mvadownpour",
          "downpour that evaluates a moving average of the center",
          {.exchanges = ExchangePattern::kRequests, .has_center = true, .compresses = true},
          mvadownpour_options(),
          [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
            const MovingAverage average = average_rate_in(context.values);
            const int ranks = context.transport.size(), workers = ranks - center_ranks_in(context.values, ranks);
            warn_of_beginning(context, context.steps / tau_in(context.values) * workers);
            return std::make_unique<DownpourWorker>(context, average);
          }};
}

}  // namespace eave
