#include "app/commands/bench_comm_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "eave/job.h"
#include "transport/decorators/forwarding.h"

namespace eave {
namespace {

constexpr int kWarmup = 1, kIterations = 3;

// A transport that adds 1 to the last value of each sum and request of its rank, if `damages` is true.
class Damaging final : public ForwardingTransport {
 public:
  Damaging(Transport& inner, bool damages) : ForwardingTransport(inner), damages_(damages) {}
  Pending all_reduce_sum(Slice values, std::span<const int> ranks, const Compression& compression) override {
    if (damages_ && values.data() != nullptr) values.back() += 1;
    return ForwardingTransport::all_reduce_sum(values, ranks, compression);
  }
  Pending request(std::span<const ServiceRequest> requests) override {
    if (damages_) requests.back().values.back() += 1;
    return ForwardingTransport::request(requests);
  }

 private:
  bool damages_;
};

const TransportKind& threads() {
  return *std::ranges::find(transport_kinds(), std::string("threads"), [](const auto& kind) { return kind.name; });
}

// Runs the operation on `ranks` threads and returns the number of wrong results over all ranks. Expects that every rank
// gets the same number.
std::int64_t count_wrong(const CommOperation& operation, int ranks, std::size_t count, int rank_that_damages) {
  std::atomic<std::int64_t> wrong = -1;
  const int code = threads().run(ranks, [&](Transport& transport) {
    Damaging damaging(transport, transport.rank() == rank_that_damages);
    const std::unique_ptr<CommTrial> trial = operation.make(damaging, cpu_device(), count);
    const CommTiming timing = time_trial(damaging, *trial, kWarmup, kIterations);
    trial->finish();
    EXPECT_GT(timing.seconds, 0);
    const std::int64_t before = wrong.exchange(timing.wrong);
    EXPECT_TRUE(before == -1 || before == timing.wrong);
  });
  EXPECT_EQ(code, 0);
  return wrong;
}

TEST(CommTrial, finds_nothing_wrong_where_nothing_is) {
  for (const CommOperation& operation : comm_operations()) {
    for (const int ranks : {1, 2, 3, 5})
      for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{1021}, std::size_t{300'001}})
        EXPECT_EQ(count_wrong(operation, ranks, count, -1), 0) << operation.name << ", " << ranks << ", " << count;
  }
}

// A damaged sum is wrong on every rank. A damaged request makes two results wrong: the reply, and the shard on the rank
// that keeps it.
TEST(CommTrial, counts_each_wrong_result_of_every_iteration) {
  for (const CommOperation& operation : comm_operations()) {
    for (const int ranks : {2, 3}) {
      const int of_one = operation.name == "request" ? 2 : ranks;
      EXPECT_EQ(count_wrong(operation, ranks, 5000, ranks - 1), of_one * (kWarmup + kIterations)) << operation.name;
    }
  }
}

}  // namespace
}  // namespace eave
