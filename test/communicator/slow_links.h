// Measures how long methods wait, over links so slow that every wait shows.
#pragma once

#include <string>
#include <utility>

#include "worker.h"

namespace eave {

constexpr double kDelay = 0.1;  // seconds that each operation takes at least

// Collective. The seconds that ten steps wait, and the seconds that consensus() waits after them.
inline std::pair<double, double> waiting(Transport& transport, const std::string& communicator, const Given& given) {
  const auto slow = make_shaped_transport(transport, {.delay_seconds = kDelay, .bytes_per_second = 0});
  Worker worker(*slow, communicator, given, {});
  worker.begin();
  const double at_start = worker.communicator().costs().seconds_waiting;
  worker.run(10);
  const double after_steps = worker.communicator().costs().seconds_waiting;
  worker.consensus();
  return {after_steps - at_start, worker.communicator().costs().seconds_waiting - after_steps};
}

}  // namespace eave
