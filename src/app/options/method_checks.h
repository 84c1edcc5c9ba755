// Checks of options that depend on the method and on the number of ranks, and not on the data or the model. So a
// comparison can check all of its runs before the first begins. All throw Error(kUsage).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eave/communicator.h"
#include "eave/options.h"

namespace eave {

// The samples of each rank in a step. `workers`: the ranks that train. --batch-means total must divide among them.
std::int64_t batch_of_rank(const OptionValues& values, int workers);

// --replica-hash-every and --on-replica-fault, where ranks are not compared.
void refuse_useless_replica_checks(const OptionValues& values, const CommunicatorTraits& traits, int workers);
// --ema-decay without --ema-every, if an update of the average makes ranks wait that otherwise do not.
void refuse_hidden_waits_for_average(const OptionValues& values, const CommunicatorTraits& traits, int ranks);
// --lr-scaling with --batch-means total.
void refuse_scaling_of_total_batch(const OptionValues& values, const CommunicatorTraits& traits);
// --on-drop reset-to-center with a method that cannot.
void refuse_useless_reset(const OptionValues& values, const CommunicatorTraits& traits);
// --stop-after-bytes with a method that sends nothing.
void refuse_endless_bytes(const OptionValues& values, const CommunicatorTraits& traits, int ranks);
// --stop-at-accuracy and --stop-at-loss with --average-at-end.
void refuse_stops_before_average(const OptionValues& values);
// --accumulate, and options that depend on the number of ranks, with a method that splits batches in its own way.
void refuse_other_splits(const OptionValues& values, Communicator& communicator);

// Makes the method as rank 0 of its run will, because only `make` knows which values it takes. It exchanges nothing.
// `job`: any transport. `hosts`: of the run's ranks.
void check_method(const CommunicatorKind& kind, const OptionValues& values, double learning_rate, Transport& job,
                  const std::vector<std::string>& hosts);

// All of the above that need no communicator.
void check_options_of_method(const OptionValues& values, const CommunicatorTraits& traits, int ranks, int workers);

}  // namespace eave
