// One rank of a small training run: a loss of its own, a communicator, an optimizer, and the loop of a trainer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "communicator/support/compression.h"
#include "eave/communicator.h"
#include "eave/optimizer.h"
#include "eave/update_steps.h"
#include "problem.h"
#include "test/base/option_values.h"
#include "transport/codecs/codec.h"

namespace eave {

inline Given with(Given given, const Given& more) {
  given.insert(given.end(), more.begin(), more.end());
  return given;
}

// The option --compression and the options of all codecs.
inline std::vector<OptionSpec> compression_options() {
  std::vector<OptionSpec> options = {compression_option()};
  for (const CodecKind& kind : codec_kinds()) {
    options.front().choices.push_back(kind.name);
    options.insert(options.end(), kind.options.begin(), kind.options.end());
  }
  return options;
}

// The options on which a run's numbers depend. Drops those that only say how exchanges are ordered or overlapped: a
// replay must accept a recorded order whatever they are.
inline Given settings_of(const Given& given) {
  Given settings;
  for (const auto& [name, text] : given) {
    if (name != "replay" && name != "async-order" && name != "async-overlap") settings.emplace_back(name, text);
  }
  return settings;
}

inline std::string exact_text(double value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return text.str();
}

class Worker {
 public:
  Worker(Transport& transport, const std::string& communicator, const Given& given, const Problem& problem)
      : problem_(problem), rank_(transport.rank()), loss_(problem, rank_) {
    const CommunicatorKind& kind = find_kind(communicator_kinds(), communicator);
    const OptimizerKind& sgd = find_kind(optimizer_kinds(), "sgd");
    std::vector<OptionSpec> specs = kind.options;  // as in a program, the options of the optimizer are declared, too
    specs.insert(specs.end(), sgd.options.begin(), sgd.options.end());
    for (const OptionSpec& option : compression_options()) specs.push_back(option);
    const OptionValues values = values_of(specs, given);
    workers_ = count_workers(kind, values, transport.size());
    communicator_ = make_communicator(kind, {transport, values, problem.learning_rate, warnings, problem.steps,
                                             problem.first_step, 3, settings_of(given)});
    optimizer_ = sgd.make({values_of(sgd.options, {{"momentum", exact_text(problem.momentum)},
                                                   {"nesterov", problem.nesterov ? "on" : "off"}}),
                           static_cast<std::int64_t>(problem.size), cpu_device()});
    x = problem.start();
    g.resize(problem.size);
    statistics.assign(5, 0.5f);
    if (rank_ != 0) {  // begin() must replace these by rank 0's values
      for (float& value : x) value += static_cast<float>(rank_);
      for (float& value : statistics) value -= static_cast<float>(rank_);
    }
  }

  Communicator& communicator() { return *communicator_; }
  void begin() { communicator_->begin({x, g, statistics, optimizer_->state()}); }

  // Calls `after_each`, if given, after each step with the number of that step.
  void run(std::int64_t steps, const std::function<void(std::int64_t)>& after_each = {}) {
    for (std::int64_t i = 0; i < steps; ++i) {
      step();
      if (after_each) after_each(next_step_ - 1);
    }
  }

  void step() {
    const std::int64_t t = next_step_++;
    Step step{t, rank_ < workers_ ? problem_.samples(rank_, t) : 0, problem_.samples_everywhere(workers_, t),
              problem_.rate(t), optimizer_->ahead(problem_.rate(t))};
    communicator_->before_gradients(step);
    if (rank_ >= workers_) return;
    compute_gradients(step);
    step.loss_sum = static_cast<double>(step.samples) * loss_({x.begin(), x.end()});
    const std::optional<Pull> pull = communicator_->before_update(step);
    if (communicator_->updates(step)) {
      optimizer_->update(x, g, step.learning_rate, pull);
    } else if (pull) {
      cpu_device().pull_parameters(x, *pull, step.ahead);
    }
    communicator_->after_update(step);
  }

  // Takes over the state of `other`, as if it were loaded from a checkpoint. Call it after begin().
  void restore(Worker& other) {
    other.consensus();  // completes the exchange in flight
    x = other.x;
    copy_state(other.communicator_->state(), communicator_->state());
    copy_state(other.optimizer_->state(), optimizer_->state());
    next_step_ = other.next_step_;
  }

  void reset_to_center() { communicator_->reset_to_center({x, g, statistics, optimizer_->state()}); }
  std::vector<Slice> optimizer_state() { return optimizer_->state(); }

  // The iterate, which is evaluated and exchanged. With Nesterov's momentum x is ahead of it by a share of the
  // velocity; without, it is x.
  std::vector<float> iterate() {
    const Ahead ahead = optimizer_->ahead(problem_.rate(std::max<std::int64_t>(next_step_ - 1, 0)));
    std::vector<float> iterate = x;
    for (std::size_t k = 0; k < ahead.velocity.size(); ++k) iterate[k] += ahead.factor * ahead.velocity[k];
    return iterate;
  }

  std::vector<float> consensus() {
    const ConstSlice slice = communicator_->consensus();
    return {slice.begin(), slice.end()};
  }

  std::vector<std::string> warnings;
  std::vector<float> x, g, statistics;

 private:
  static void copy_state(const std::vector<Slice>& from, const std::vector<Slice>& to) {
    if (from.size() != to.size()) throw std::logic_error("states differ");
    for (std::size_t i = 0; i < from.size(); ++i) std::ranges::copy(from[i], to[i].begin());
  }

  void compute_gradients(const Step& step) {
    const double weight = step.samples > 0 ? communicator_->gradient_weight(step) : 0;
    const Doubles gradient = loss_.gradient({x.begin(), x.end()});
    for (std::size_t k = 0; k < x.size(); ++k) g[k] = static_cast<float>(weight * gradient[k]);
    // Each rank reports parts of a different size. No result may depend on these sizes.
    const std::size_t part = 1 + static_cast<std::size_t>(rank_) * 5;
    for (std::size_t end = x.size(); end > 0; end -= std::min(part, end)) {
      const std::size_t size = std::min(part, end);
      communicator_->gradient_ready(Slice(g).subspan(end - size, size));
    }
  }

  Problem problem_;
  int workers_ = 0, rank_;
  WorkerLoss loss_;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t next_step_ = 0;
};

// A Worker that has begun, and has trained for `steps` steps.
class BegunWorker : public Worker {
 public:
  BegunWorker(Transport& transport, const std::string& communicator, const Given& given, const Problem& problem,
              std::int64_t steps = 0)
      : Worker(transport, communicator, given, problem) {
    begin();
    run(steps);
  }
};

inline std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

inline std::vector<float> floats_of(const std::string& bytes) {
  const auto* begin = reinterpret_cast<const float*>(bytes.data());
  return {begin, begin + bytes.size() / sizeof(float)};
}

// The index of this rank in vectors with an element for each rank.
inline std::size_t me(const Transport& transport) { return static_cast<std::size_t>(transport.rank()); }

// Collective. Returns `mine` of every rank, in rank order.
inline std::vector<std::vector<float>> gather(Transport& transport, const std::vector<float>& mine) {
  std::vector<std::vector<float>> all;
  for (const std::string& bytes : transport.all_gather(bytes_of(mine))) all.push_back(floats_of(bytes));
  return all;
}

// Collective. Returns whether `mine` has the same bits on every rank.
inline bool same_on_all_ranks(Transport& transport, const std::vector<float>& mine) {
  const std::vector<std::string> all = transport.all_gather(bytes_of(mine));
  return std::all_of(all.begin(), all.end(), [&](const std::string& each) { return each == all.front(); });
}

template <class Values>
Doubles added(Doubles sum, const Values& more) {
  std::transform(more.begin(), more.end(), sum.begin(), sum.begin(), std::plus<>());
  return sum;
}

// Collective. Returns the sum over all ranks of `mine`, in double precision.
inline Doubles sum_of_all(Transport& transport, const std::vector<float>& mine) {
  Doubles sum(mine.size());
  for (const std::vector<float>& each : gather(transport, mine)) sum = added(sum, each);
  return sum;
}

// Collective. Returns the sum of the center and of all workers, which elastic exchanges conserve.
inline Doubles sum_with_center(Transport& transport, Worker& worker) {
  const std::vector<float> center = worker.consensus();
  return added(sum_of_all(transport, worker.x), center);
}

// Collective. Expects that a worker that takes over the state of another after `at` of `steps` steps ends with the same
// bits as one that trains for all steps.
inline void expect_to_resume(Transport& transport, const std::string& communicator, const Given& given,
                             const Problem& problem, std::int64_t steps, std::int64_t at) {
  BegunWorker whole(transport, communicator, given, problem, steps);
  whole.communicator().finish();
  Problem rest = problem;
  rest.first_step = at;
  BegunWorker first(transport, communicator, given, problem, at), second(transport, communicator, given, rest);
  second.restore(first);
  first.communicator().finish();
  second.run(steps - at);
  second.communicator().finish();
  EXPECT_EQ(second.x, whole.x) << "resumed at " << at;
  EXPECT_EQ(second.consensus(), whole.consensus()) << "resumed at " << at;
}

}  // namespace eave
