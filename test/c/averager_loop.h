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

// How the loop hands its gradients over.
struct HandOver {
  std::size_t parts = 0;  // before the update in parts of this size, in the vector; 0: with the update
  bool is_apart = false;  // they lie in two tensors of their own
  bool is_early = false;  // apart, and the second tensor before the update
  int changed_on = -1;    // apart and early; this rank hands over other values, and changes them before the update
  std::vector<int> exchanges{};  // of each step, set by the loop
};

// Does before_update with gradients in two tensors of their own. Returns whether the optimizer takes its step. Then `g`
// are the gradients for it.
inline bool update_apart(Averager& averager, HandOver& how, int rank, double loss_sum, std::vector<float>& g,
                         Slice vector) {
  const std::size_t first = g.size() / 3;
  std::vector<float> a(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(first)),
      b(g.begin() + static_cast<std::ptrdiff_t>(first), g.end());
  const std::vector<const float*> values = {a.data(), b.data()};
  const std::vector<std::size_t> counts = {a.size(), b.size()};
  std::vector<std::uint8_t> has_gradient = {1, 1};
  const GradientParts parts{values, counts};
  const auto flip = [&] {
    if (rank == how.changed_on)
      for (float& value : b) value = -value;
  };
  flip();
  if (how.is_early) averager.gradients_ready(parts, 1);
  flip();
  const bool updates = averager.before_update(loss_sum, has_gradient, parts);
  how.exchanges.push_back(averager.gradient_exchanges());
  if (averager.gradient_exchanges() > 0) g.assign(vector.begin(), vector.end());
  return updates;
}

// Runs the loop with its vectors in the memory of `device`. `options` must name the same device.
inline LoopEnded run_averager_loop(Transport& transport, Device& device, const std::string& options, HandOver& how) {
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
    const double loss_sum = static_cast<double>(samples) * loss({x.begin(), x.end()});
    bool updates = false;
    if (how.is_apart) {
      updates = update_apart(averager, how, rank, loss_sum, g, gradients.slice());
    } else {
      gradients.put(g);
      if (how.parts > 0) hand_over(averager, how.parts);
      updates = averager.before_update(loss_sum);
      g = gradients.get();
    }
    if (updates) {
      x = parameters.get();
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

inline LoopEnded run_averager_loop(Transport& transport, Device& device, const std::string& options,
                                   std::size_t parts = 0) {
  HandOver how{.parts = parts};
  return run_averager_loop(transport, device, options, how);
}

}  // namespace eave
