#include "app/commands/bench_comm_operations.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/options/number_text.h"
#include "communicator/center/center_layout.h"
#include "eave/agreement.h"

namespace eave {
namespace {

constexpr std::size_t kPeriod = 1021;  // prime, so no part, segment or shard has a multiple of it as length

using Pattern = std::array<float, kPeriod>;  // the values are this pattern, repeated

// Makes whole numbers below 1021: their sums over 16384 ranks are exact in float32.
Pattern pattern_of(int rank, int iteration) {
  Pattern pattern;
  const auto shift = static_cast<std::size_t>(rank) * 17 + static_cast<std::size_t>(iteration) * 5;
  for (std::size_t i = 0; i < kPeriod; ++i) pattern[i] = static_cast<float>((i * 31 + shift) % kPeriod);
  return pattern;
}

Pattern sum_over(int ranks, int iteration) {
  Pattern sum{};
  for (int rank = 0; rank < ranks; ++rank) {
    const Pattern part = pattern_of(rank, iteration);
    for (std::size_t i = 0; i < kPeriod; ++i) sum[i] += part[i];
  }
  return sum;
}

template <class Combine>
Pattern combine(const Pattern& a, const Pattern& b, Combine combined) {
  Pattern result;
  for (std::size_t i = 0; i < kPeriod; ++i) result[i] = combined(a[i], b[i]);
  return result;
}

// Counts values that differ from the pattern. `offset` is the place of the first value in the repeated pattern.
std::int64_t count_differing(ConstSlice values, const Pattern& pattern, std::size_t offset = 0) {
  std::int64_t differing = 0;
  for (std::size_t i = 0, k = offset % kPeriod; i < values.size(); ++i, k = k + 1 == kPeriod ? 0 : k + 1)
    differing += values[i] != pattern[k];
  return differing;
}

// Values on a device that are set and checked through host memory.
class CraftedNumbers {
 public:
  CraftedNumbers(Device& device, std::size_t count) : device_(device), host_(device.allocate_for_host(count)) {}

  void fill(Slice values, const Pattern& pattern) {
    const Slice host = host_.slice().first(values.size());
    for (std::size_t at = 0; at < host.size(); at += kPeriod)
      std::copy_n(pattern.data(), std::min(kPeriod, host.size() - at), host.data() + at);
    device_.write(values, host);
  }
  std::int64_t count_wrong(ConstSlice values, const Pattern& pattern) {
    const Slice host = host_.slice().first(values.size());
    device_.read(values, host);
    return count_differing(host, pattern);
  }

 private:
  Device& device_;
  Buffer host_;
};

class AllReduceTrial final : public CommTrial {
 public:
  AllReduceTrial(Transport& transport, Device& device, std::size_t count)
      : transport_(transport), device_(device), numbers_(device, count), values_(device.allocate(count)) {}

  void prepare(int iteration) override {
    numbers_.fill(values_.slice(), pattern_of(transport_.rank(), iteration));
    expected_ = sum_over(transport_.size(), iteration);
  }
  void run() override {
    transport_.all_reduce_sum(values_.slice()).wait();
    device_.wait();
  }
  std::int64_t count_wrong() override { return numbers_.count_wrong(values_.slice(), expected_); }

 private:
  Transport& transport_;
  Device& device_;
  CraftedNumbers numbers_;
  Buffer values_;
  Pattern expected_{};
};

// The elastic exchange. With x_i = 2 v_i, c = 2 w and alpha = 1/2, each d_i = v_i - w is a whole number.
class ElasticTrial final : public CommTrial {
 public:
  ElasticTrial(Transport& transport, Device& device, std::size_t count)
      : transport_(transport),
        device_(device),
        numbers_(device, count),
        parameters_(device.allocate(count)),
        center_(device.allocate(count)),
        difference_(device.allocate(count)) {}

  void prepare(int iteration) override {
    const Pattern v = pattern_of(transport_.rank(), iteration), w = pattern_of(transport_.size(), iteration);
    numbers_.fill(parameters_.slice(), combine(v, v, std::plus<>()));
    numbers_.fill(center_.slice(), combine(w, w, std::plus<>()));
    expected_parameters_ = combine(v, w, std::plus<>());
    const auto ranks = static_cast<float>(transport_.size());
    expected_center_ = combine(sum_over(transport_.size(), iteration), w,
                               [ranks](float sum, float center) { return sum - ranks * center + 2 * center; });
  }
  void run() override {
    device_.pull_parameters(parameters_.slice(), {center_.slice(), 0.5F, difference_.slice()});
    transport_.all_reduce_sum(difference_.slice()).wait();
    device_.move_center(center_.slice(), difference_.slice());
    device_.wait();
  }
  std::int64_t count_wrong() override {
    return numbers_.count_wrong(parameters_.slice(), expected_parameters_) +
           numbers_.count_wrong(center_.slice(), expected_center_);
  }

 private:
  Transport& transport_;
  Device& device_;
  CraftedNumbers numbers_;
  Buffer parameters_, center_, difference_;
  Pattern expected_parameters_{}, expected_center_{};
};

// Cuts the center into shards on all ranks, as asynchronous methods do.
CenterLayout lay_out(std::size_t count, const Transport& transport) {
  std::vector<int> owners(static_cast<std::size_t>(transport.size()));
  std::iota(owners.begin(), owners.end(), 0);
  return {count, even_shard_size(count, transport.request_length(), owners.size()), owners};
}

// Every rank sends to each shard of a center the part of its values that belongs to the shard. The center adds them up,
// and replies with twice the values it received. Neither result depends on the order in which ranks arrive.
class RequestTrial final : public CommTrial, private Service {
 public:
  RequestTrial(Transport& transport, Device& device, std::size_t count)
      : transport_(transport),
        device_(device),
        numbers_(device, count),
        values_(device.allocate(count)),
        layout_(lay_out(count, transport)),
        kept_(layout_.kept(transport.rank())),
        center_(kept_.size) {
    // Each rank begins with a shard that it holds itself, like workers that arrive at the same time.
    for (const std::size_t shard : layout_.dealt_out(static_cast<std::size_t>(transport.rank())))
      requests_.push_back(
          {layout_.owner(shard), static_cast<std::int64_t>(shard), cut(values_.slice(), layout_.shard(shard))});
    transport_.serve(this);
    is_serving_ = true;
  }
  ~RequestTrial() override {
    if (is_serving_) transport_.withdraw();
  }

  void prepare(int iteration) override {
    const Pattern mine = pattern_of(transport_.rank(), iteration);
    numbers_.fill(values_.slice(), mine);
    expected_reply_ = combine(mine, mine, std::plus<>());
    expected_center_ = sum_over(transport_.size(), iteration);
    std::ranges::fill(center_.slice(), 0.0F);
  }
  void run() override {
    transport_.request(requests_).wait();
    device_.wait();
  }
  std::int64_t count_wrong() override {
    transport_.all_gather("");  // a rank that arrives here has all its replies
    return numbers_.count_wrong(values_.slice(), expected_reply_) +
           count_differing(center_.slice(), expected_center_, kept_.begin);
  }
  void finish() override {
    transport_.serve(nullptr);
    is_serving_ = false;
  }

 private:
  bool answer(int, std::int64_t key, Slice values) override {
    const std::size_t begin = layout_.shard(static_cast<std::size_t>(key)).begin - kept_.begin;
    for (std::size_t i = 0; i < values.size(); ++i) {
      center_.data()[begin + i] += values[i];
      values[i] *= 2;
    }
    return true;
  }

  Transport& transport_;
  Device& device_;
  CraftedNumbers numbers_;
  Buffer values_;
  CenterLayout layout_;
  Range kept_;
  Buffer center_;  // the shards on this rank
  std::vector<ServiceRequest> requests_;
  Pattern expected_reply_{}, expected_center_{};
  bool is_serving_ = false;
};

template <class Trial>
std::unique_ptr<CommTrial> make(Transport& transport, Device& device, std::size_t count) {
  return std::make_unique<Trial>(transport, device, count);
}

// The median over iterations of the slowest rank's time. `mine` has this rank's time of each iteration.
double median_of_slowest(Transport& transport, const std::vector<double>& mine) {
  const std::string text(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double));
  std::vector<double> slowest(mine.size()), theirs(mine.size());
  for (const std::string& of_rank : transport.all_gather(text)) {
    std::memcpy(theirs.data(), of_rank.data(), of_rank.size());
    for (std::size_t k = 0; k < slowest.size(); ++k) slowest[k] = std::max(slowest[k], theirs[k]);
  }
  return median_of(slowest);
}

}  // namespace

const std::vector<CommOperation>& comm_operations() {
  static const std::vector<CommOperation> operations = {
      {"allreduce", "sum over all ranks, as in synchronous averaging", "sum", make<AllReduceTrial>},
      {"easgd", "one synchronous elastic exchange: pull and write the difference, allreduce it, move the center", "sum",
       make<ElasticTrial>},
      {"request",
       "one asynchronous exchange of all ranks at the same time: requests to a center in shards on all ranks", "sum",
       make<RequestTrial>}};
  return operations;
}

CommTiming time_trial(Transport& transport, CommTrial& trial, int warmup, int iterations) {
  std::vector<double> mine(static_cast<std::size_t>(iterations));
  std::int64_t wrong = 0;
  for (int k = -warmup; k < iterations; ++k) {
    trial.prepare(warmup + k);
    transport.all_gather("");
    const auto start = std::chrono::steady_clock::now();
    trial.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (k >= 0) mine[static_cast<std::size_t>(k)] = seconds.count();
    wrong += trial.count_wrong();
  }
  const double all_wrong = sum_over_ranks(transport, {static_cast<double>(wrong)}).front();
  return {median_of_slowest(transport, mine), static_cast<std::int64_t>(all_wrong)};
}

}  // namespace eave
