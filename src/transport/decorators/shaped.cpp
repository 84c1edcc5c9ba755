// The decorator `shaped`: makes a link as slow as asked for. It runs the real operation, then sleeps for the rest of
// the time.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "eave/decorators.h"
#include "eave/random.h"
#include "eave/transport.h"
#include "transport/core/background_transport.h"
#include "transport/core/transport_base.h"

namespace eave {
namespace {

class ShapedWire final : public Wire {
 public:
  ShapedWire(Transport& inner, LinkShape shape)
      : inner_(inner), shape_(shape), costs_(static_cast<std::size_t>(inner.size())) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return "shaped(" + inner_.name() + ")"; }
  // No caller may cut values, because each piece would pay the delay.
  std::size_t piece() const override { return std::numeric_limits<std::size_t>::max(); }

  void all_reduce_sum(Slice values, std::span<const int> ranks) override { sum_compressed(values, ranks, {}); }

  void sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) override {
    const int size_of_group = ranks.empty() ? size() : static_cast<int>(ranks.size());
    if (size_of_group == 1) return;
    dawdle();
    const SteadyClock::time_point end =
        end_of(all_reduce_wire_bytes(values.size(), size_of_group, compression.codec), ranks);
    inner_.all_reduce_sum(values, ranks, compression).wait();
    std::this_thread::sleep_until(end);
  }

  void broadcast(Slice values, int root) override {
    dawdle();
    const SteadyClock::time_point end = end_of(broadcast_wire_bytes(values.size(), size()));
    inner_.broadcast(values, root).wait();
    std::this_thread::sleep_until(end);
  }

  Slice lend(std::size_t size) override { return inner_.lend(size); }
  std::size_t bytes_of_others() const override { return inner_.bytes_of_others(); }

  // With kFirstToAll only rank 0 knows the length of the text. The others reckon with 0 bytes, and the largest cost
  // counts.
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override {
    dawdle();
    const bool is_sent = route != TextRoute::kFirstToAll || rank() == 0;
    const SteadyClock::time_point end = end_of(text_wire_bytes(is_sent ? mine.size() : 0, rank(), size(), route));
    std::vector<std::string> all = inner_.texts(mine, route);
    std::this_thread::sleep_until(end);
    return all;
  }

  // The ranks tell each other their links, because a request's cost depends on both links.
  void serve(Service* service) override {
    const auto* const mine = reinterpret_cast<const char*>(&shape_);
    const std::vector<std::string> shapes = inner_.all_gather(std::string(mine, sizeof shape_));
    links_.resize(shapes.size());
    for (std::size_t rank = 0; rank < shapes.size(); ++rank)
      std::ranges::copy(shapes[rank], reinterpret_cast<char*>(&links_[rank]));
    inner_.serve(service);
  }

  void request(std::span<const ServiceRequest> requests) override {
    dawdle();
    const SteadyClock::duration one_way = one_way_of(requests);
    std::this_thread::sleep_for(one_way);
    inner_.request(requests).wait();
    std::this_thread::sleep_for(one_way);
  }

  std::optional<std::size_t> request_length() const override { return inner_.request_length(); }
  void withdraw() noexcept override { inner_.withdraw(); }
  ControlChannel* control() override { return inner_.control(); }
  const CallRecord* calls() const override { return inner_.calls(); }
  std::shared_ptr<const CallRecord> device_calls() const override { return inner_.device_calls(); }
  void abort(ExitCode code) noexcept override { inner_.abort(code); }

 private:
  void dawdle() {
    if (shape_.jitter_seconds == 0) return;
    RandomStream random(
        {.seed = shape_.jitter_seed, .purpose = Purpose::kJitter, .part = static_cast<std::uint32_t>(rank())},
        calls_++);
    std::this_thread::sleep_for(duration_of(shape_.jitter_seconds * random.uniform()));
  }

  // Waits until all of `ranks` have joined. Each rank tells the others what the operation costs on its link. Returns
  // when it ends on the slowest link, which is its end on all ranks.
  SteadyClock::time_point end_of(double bytes, std::span<const int> ranks = {}) {
    std::ranges::fill(costs_, 0.0f);
    costs_[static_cast<std::size_t>(rank())] = static_cast<float>(shape_.delay_seconds + transfer(bytes, shape_));
    inner_.all_reduce_sum(costs_, ranks).wait();
    return SteadyClock::now() + duration_of(std::ranges::max(costs_));
  }

  // The seconds of one direction. Requests use the link one after another, each at the pace of the slower of its two
  // links.
  SteadyClock::duration one_way_of(std::span<const ServiceRequest> requests) const {
    double delay = 0, transfers = 0;
    for (const ServiceRequest& each : requests) {
      if (each.owner == rank() || links_.empty()) continue;
      const LinkShape& theirs = links_[static_cast<std::size_t>(each.owner)];
      const double bytes = static_cast<double>(each.values.size_bytes());
      delay = std::max({delay, shape_.delay_seconds, theirs.delay_seconds});
      transfers += std::max(transfer(bytes, shape_), transfer(bytes, theirs));
    }
    return duration_of(delay + transfers);
  }

  static double transfer(double bytes, const LinkShape& link) {
    return link.bytes_per_second > 0 ? bytes / link.bytes_per_second : 0;
  }

  static SteadyClock::duration duration_of(double seconds) {
    return std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  }

  Transport& inner_;
  const LinkShape shape_;
  std::uint64_t calls_ = 0;
  std::vector<float> costs_;
  std::vector<LinkShape> links_;  // by rank
};

void check_shape(double value, const char* what) {
  if (std::isfinite(value) && value >= 0) return;
  throw Error(ExitCode::kUsage, std::string("the ") + what + " of a shaped link must be a number from 0 up, not " +
                                    std::to_string(value));
}

}  // namespace

std::unique_ptr<Transport> make_shaped_transport(Transport& inner, LinkShape shape) {
  check_shape(shape.delay_seconds, "delay");
  check_shape(shape.bytes_per_second, "rate");
  check_shape(shape.jitter_seconds, "jitter");
  return std::make_unique<BackgroundTransport>(std::make_unique<ShapedWire>(inner, shape));
}

}  // namespace eave
