// MVADOWNPOUR (Zhang, Choromanska, LeCun 2015, section 5): DOWNPOUR, whose center is averaged for evaluation with a
// constant rate.
//
//   as in downpour.cpp;   after each update of the center:  z <- (1 - a) z + a c,  a = --average-rate (0.001 there).
// Workers never see z. With a = 1, z is c: DOWNPOUR.
//
// Rounds and bytes are DOWNPOUR's: z is kept where c is, with what float32 drops of it (move_average), so the shards
// take three times its memory. Evaluated is z. Deterministic in round-robin order and in a replay.
#include "communicator/downpour_worker.h"
#include "communicator/periodic_options.h"

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
          "downpour; evaluated is a moving average of the center",
          {.averages_gradients = false, .has_center = true},
          mvadownpour_options(),
          [](const CommunicatorContext& context) -> std::unique_ptr<Communicator> {
            const MovingAverage average = average_rate_in(context.values);
            const int ranks = context.transport.size(), workers = ranks - center_ranks_in(context.values, ranks);
            warn_of_beginning(context, context.steps / tau_in(context.values) * workers);
            return std::make_unique<DownpourWorker>(context, average);
          }};
}

}  // namespace eave
