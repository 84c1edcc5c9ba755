// Helpers for tests of exchanges: one exchange of numbers that floats hold exactly, and the waiting for exchanges over
// slow links.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "eave/decorators.h"
#include "worker.h"

namespace eave {

// Calls the communicator as a trainer does in step t, but without gradients: only the exchange changes anything.
inline void exchange(Worker& worker, std::int64_t t) {
  const Step step{t, 0, 1, 0.1};
  worker.communicator().before_gradients(step);
  if (const auto pull = worker.communicator().before_update(step)) cpu_device().pull_parameters(worker.x, *pull);
  worker.communicator().after_update(step);
}

// Collective. Begins `worker` with a center of 0, then sets its parameters to `x`.
inline void start_at(Worker& worker, const std::vector<float>& x) {
  std::ranges::fill(worker.x, 0.0f);
  worker.begin();
  worker.x = x;
}

// Expects that four exchanges leave `sum` as it is. Whole numbers of 7 bits stay exact: an exchange of the tests adds 2
// or 3 bits, and a float has 24.
inline void expect_conserved(Worker& worker, const std::function<Doubles()>& sum, const std::string& what = "") {
  const Doubles before = sum();
  for (std::int64_t t = 1; t <= 4; ++t) {
    exchange(worker, t);
    EXPECT_EQ(sum(), before) << what << ", step " << t;
  }
}

// Whole numbers that differ between ranks and elements.
inline std::vector<float> whole_numbers(int rank, std::size_t size) {
  std::vector<float> values(size);
  for (std::size_t k = 0; k < size; ++k)
    values[k] = static_cast<float>((rank * 37 + static_cast<int>(k) * 11) % 64 - 20);
  return values;
}

constexpr double kDelay = 0.1;  // seconds that each operation over slow links takes at least

// Collective. The seconds that ten steps wait, and the seconds that consensus() waits after them.
inline std::pair<double, double> waiting(Transport& transport, const std::string& communicator, const Given& given) {
  const auto slow = make_shaped_transport(transport, {.delay_seconds = kDelay, .bytes_per_second = 0});
  BegunWorker worker(*slow, communicator, given, {});
  const double at_start = worker.communicator().costs().seconds_waiting;
  worker.run(10);
  const double after_steps = worker.communicator().costs().seconds_waiting;
  worker.consensus();
  return {after_steps - at_start, worker.communicator().costs().seconds_waiting - after_steps};
}

}  // namespace eave
