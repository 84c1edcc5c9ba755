#include "train/watch/slow_watch.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace eave {
SlowWatch::SlowWatch(const TrainingParts& parts, const TrainingPlan& plan, const TrainingEvents& events)
    : parts_(parts),
      events_(events),
      every_(parts.transport.size() > 1 ? plan.watch_every_steps : 0),
      knows_(parts.replica.device.kind() == DeviceKind::kCpu),
      rule_(static_cast<std::size_t>(parts.transport.size())),
      delayed_(delay_.seconds()) {}

double SlowWatch::add(std::int64_t index, double computing, bool whole) {
  if (!is_watching()) return 0;
  steps_done_ = index + 1;
  ++steps_;
  if (whole) {
    shortest_ = whole_steps_ == 0 ? computing : std::min(shortest_, computing);
    sum_ += computing;
    ++whole_steps_;
  }
  if (!is_live()) return 0;
  receive();
  if (steps_ < every_) return 0;
  if (!is_weighed_) return weigh();
  send();
  return 0;
}

void SlowWatch::meet() {
  if (!is_watching()) return;
  receive();
  if (is_live()) return;
  const std::int64_t steps = steps_;
  const ComputingTimes times = take_window(), mine = knows_ ? times : ComputingTimes();
  std::vector<ComputingTimes> window;
  for (const std::string& text : parts_.transport.gather({reinterpret_cast<const char*>(&mine), sizeof mine}))
    std::memcpy(&window.emplace_back(), text.data(), sizeof mine);
  judge(window, steps);
}

ComputingTimes SlowWatch::take_window() {
  const double delayed = delay_.seconds(), without_core = delayed - std::exchange(delayed_, delayed);
  const double sum = std::exchange(sum_, 0) - without_core;
  const std::int64_t whole_steps = std::exchange(whole_steps_, 0);
  steps_ = 0;
  if (whole_steps == 0) return {};
  // Time without a core may include the end of a wait, which `sum` does not contain. So the mean could become too
  // small.
  return {shortest_, std::max(sum / static_cast<double>(whole_steps), shortest_)};
}

std::vector<float> SlowWatch::row(const ComputingTimes& mine) const {
  std::vector<float> values(2 * static_cast<std::size_t>(parts_.transport.size()));
  const auto place = 2 * static_cast<std::size_t>(parts_.transport.rank());
  if (!knows_) return values;
  values[place] = static_cast<float>(mine.shortest);
  values[place + 1] = static_cast<float>(mine.mean);
  return values;
}

// Measures how long a sum takes: the mean over ranks of each rank's shortest time. Lengthens the window until that is
// at most kShare of its steps, by the slowest rank's step. All ranks use the same numbers. Returns the seconds for
// which it blocked.
double SlowWatch::weigh() {
  constexpr double kShare = 0.005;
  constexpr int kRounds = 3;
  is_weighed_ = true;
  std::vector<float> window = row(take_window());
  const auto begin = std::chrono::steady_clock::now();
  parts_.transport.all_reduce_sum(window).wait();
  float shortest = std::numeric_limits<float>::max();
  for (int round = 0; round < kRounds; ++round) {
    float nothing = 0;
    const auto start = std::chrono::steady_clock::now();
    parts_.transport.all_reduce_sum(Slice(&nothing, 1)).wait();
    shortest = std::min(shortest, std::chrono::duration<float>(std::chrono::steady_clock::now() - start).count());
  }
  parts_.transport.all_reduce_sum(Slice(&shortest, 1)).wait();
  const double blocked = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double seconds = shortest / static_cast<float>(parts_.transport.size());
  judge(window, every_);
  const double step = *std::ranges::max_element(window);
  const double least = step > 0 ? seconds / (kShare * step) : 0;
  every_ *= std::max<std::int64_t>(1, std::llround(std::ceil(std::min(least, 1e9) / static_cast<double>(every_))));
  return blocked;
}

void SlowWatch::send() {
  sums_.emplace_back();
  Sum& sum = sums_.back();
  sum.values = row(take_window());
  sum.pending = parts_.transport.all_reduce_sum(sum.values);
}

void SlowWatch::receive() {
  for (; !sums_.empty() && sums_.front().pending.done(); sums_.pop_front()) {
    sums_.front().pending.wait();  // throws the error of the sum, if it failed
    judge(sums_.front().values, every_);
  }
}

void SlowWatch::judge(const std::vector<float>& values, std::int64_t steps) {
  std::vector<ComputingTimes> window(values.size() / 2);
  for (std::size_t rank = 0; rank < window.size(); ++rank) window[rank] = {values[2 * rank], values[2 * rank + 1]};
  judge(window, steps);
}

void SlowWatch::judge(const std::vector<ComputingTimes>& window, std::int64_t steps) {
  if (parts_.transport.rank() != 0) return;
  for (Straggler slow : rule_.add(window, steps)) {
    slow.step = steps_done_;
    if (events_.straggler) events_.straggler(slow);
  }
}

}  // namespace eave
