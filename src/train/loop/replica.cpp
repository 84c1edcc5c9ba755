// Allocates and initialises a rank's parameters, gradients and statistics: `Replica` of eave/trainer.h.
#include <vector>

#include "eave/trainer.h"

namespace eave {

Replica::Replica(Model& a_model, Optimizer& an_optimizer, std::uint64_t a_seed, Device& a_device)
    : device(a_device),
      model(a_model),
      optimizer(an_optimizer),
      seed(a_seed),
      parameters(device.allocate(static_cast<std::size_t>(a_model.parameter_size()))),
      gradients(device.allocate(static_cast<std::size_t>(a_model.parameter_size()))),
      statistics(device.allocate(static_cast<std::size_t>(a_model.statistics_size()))),
      other_statistics(device.allocate(static_cast<std::size_t>(a_model.statistics_size()))) {
  std::vector<float> first(parameters.size()), first_statistics(statistics.size());
  model.initialise(seed, first, first_statistics);
  device.write(parameters.slice(), first);
  device.write(statistics.slice(), first_statistics);
}

ReplicaView Replica::view() {
  return {parameters.slice(), gradients.slice(), statistics.slice(),
          optimizer.state(),  &device,           optimizer.update_count()};
}

}  // namespace eave
