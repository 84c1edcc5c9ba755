#include "eave/trainer.h"

namespace eave {

Replica::Replica(Model& a_model, Optimizer& an_optimizer, std::uint64_t a_seed)
    : model(a_model),
      optimizer(an_optimizer),
      seed(a_seed),
      parameters(static_cast<std::size_t>(a_model.parameter_size())),
      gradients(static_cast<std::size_t>(a_model.parameter_size())),
      statistics(static_cast<std::size_t>(a_model.statistics_size())) {
  model.initialise(seed, parameters.slice(), statistics.slice());
}

ReplicaView Replica::view() { return {parameters.slice(), gradients.slice(), statistics.slice(), optimizer.state()}; }

}  // namespace eave
