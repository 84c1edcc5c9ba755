// A loop of plain SGD over an Averager, as users of the class write it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "c/averager.h"
#include "eave/device.h"
#include "test/communicator/worker.h"

namespace eave {

inline constexpr int kLoopSteps = 25;
inline const Problem kLoopProblem{.uneven = true};

struct LoopEnded {
  std::vector<float> parameters, consensus;
};

inline std::string averager_options(const std::string& communicator, const Given& given, const std::string& more = "") {
  std::string text = "communicator=" + communicator + " lr=0.1 seed=3" + more;
  for (const auto& [name, value] : given) text += " " + name + "=" + value;
  return text;
}

// A vector in a device's memory, where an Averager finds it. The loop itself computes on the host.
class LoopVector {
 public:
  LoopVector(Device& device, std::size_t size) : device_(device), memory_(device.allocate(size)) {}

  Slice slice() { return memory_.slice(); }

  void put(const std::vector<float>& values) {
    device_.write(slice(), values);
    device_.wait();
  }

  std::vector<float> get() {
    std::vector<float> values(slice().size());
    device_.read(slice(), values);
    return values;
  }

 private:
  Device& device_;
  Buffer memory_;
};

// Hands over all gradients but the first one, in parts of `each` from the end.
inline void hand_over(Averager& averager, std::size_t each) {
  for (std::size_t end = averager.size(); end > 1;) {
    const std::size_t begin = end - std::min(each, end - 1);
    averager.gradient_ready(begin, end - begin);
    end = begin;
  }
}

// Runs the loop with its vectors in the memory of `device`. `options` must name the same device. If `parts` is not 0,
// the loop hands over gradients in parts of that size before the update.
inline LoopEnded run_averager_loop(Transport& transport, Device& device, const std::string& options,
                                   std::size_t parts = 0) {
  const int rank = transport.rank();
  const WorkerLoss loss(kLoopProblem, rank);
  std::vector<float> x = kLoopProblem.start();
  // Start values differ by rank, because the Averager gives all ranks those of rank 0.
  for (float& value : x) value += static_cast<float>(rank);
  LoopVector parameters(device, x.size()), gradients(device, x.size()), consensus(device, x.size());
  parameters.put(x);
  Averager averager(transport, options, parameters.slice(), gradients.slice());
  for (int t = 0; t < kLoopSteps; ++t) {
    const std::int64_t samples = kLoopProblem.samples(rank, t);
    averager.begin_step(samples, kLoopProblem.samples_everywhere(transport.size(), t), kLoopProblem.learning_rate);
    x = parameters.get();
    std::vector<float> g(x.size());
    const Doubles gradient = loss.gradient({x.begin(), x.end()});
    for (std::size_t k = 0; k < x.size() && samples > 0; ++k) g[k] = static_cast<float>(gradient[k]);
    gradients.put(g);
    if (parts > 0) hand_over(averager, parts);
    if (averager.before_update(static_cast<double>(samples) * loss({x.begin(), x.end()}))) {
      x = parameters.get();
      g = gradients.get();
      for (std::size_t k = 0; k < x.size(); ++k) x[k] -= static_cast<float>(kLoopProblem.learning_rate) * g[k];
      parameters.put(x);
    }
    averager.after_update();
  }
  averager.write_consensus(consensus.slice());
  const LoopEnded ended{parameters.get(), consensus.get()};
  averager.finish();
  EXPECT_EQ(averager.counters().bytes > 0, transport.size() > 1);
  return ended;
}

}  // namespace eave
