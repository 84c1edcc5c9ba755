// What methods wait for over links so slow that a wait could not be missed.
#pragma once

#include <string>
#include <utility>

#include "worker.h"

namespace eave {

constexpr double kDelay = 0.1;

// Seconds that ten steps, then the consensus, spend waiting.
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
