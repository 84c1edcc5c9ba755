// Helpers for tests of a single exchange on numbers that floats hold exactly.
#pragma once

#include <vector>

#include "worker.h"

namespace eave {

// Calls the communicator as a trainer does in step t, but without gradients: only the exchange changes anything.
inline void exchange(Worker& worker, std::int64_t t) {
  const Step step{t, 0, 1, 0.1};
  worker.communicator().before_gradients(step);
  if (const auto pull = worker.communicator().before_update(step)) cpu_device().pull_parameters(worker.x, *pull);
  worker.communicator().after_update(step);
}

// Whole numbers that differ between ranks and elements.
inline std::vector<float> whole_numbers(int rank, std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t k = 0; k < size; ++k)
    values[k] = static_cast<float>((rank * 37 + static_cast<int>(k) * 11) % 64 - 20);
  return values;
}

}  // namespace eave
