// allreduce: the weighted mean of gradients, and the buckets in which it is summed.
#include <gtest/gtest.h>

#include <map>

#include "test/communicator/recording_transport.h"
#include "test/communicator/simulator.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

class AllReduce : public testing::TestWithParam<Ranks> {};

TEST_P(AllReduce, is_the_exact_mean_weighted_by_samples) {
  on_ranks(GetParam(), [](Transport& transport) {
    const std::int64_t samples[] = {3, 0, 1, 12};  // on 1, 2, 3 and 4 ranks the sums are 3, 3, 4 and 16
    const int p = transport.size();
    std::int64_t all = 0, weighted = 0;
    for (int rank = 0; rank < p; ++rank) {
      all += samples[rank];
      weighted += samples[rank] * 48 * (rank + 1);
    }
    BegunWorker worker(transport, "allreduce", {}, {});
    const Step step{0, samples[transport.rank()], all, 0.1};
    // If samples / all is a third, the weight is rounded. Everything else is exact.
    const float weight = worker.communicator().gradient_weight(step);
    EXPECT_FLOAT_EQ(weight, static_cast<float>(step.samples) / static_cast<float>(all));
    std::fill(worker.g.begin(), worker.g.end(), weight * 48 * static_cast<float>(transport.rank() + 1));
    EXPECT_FALSE(worker.communicator().before_update(step).has_value());
    const float expected = static_cast<float>(weighted) / static_cast<float>(all);
    if (p == 1 || p == 4) {
      EXPECT_EQ(worker.g, std::vector<float>(worker.g.size(), expected));
    } else {
      for (const float g : worker.g) EXPECT_FLOAT_EQ(g, expected);
    }
  });
}

TEST_P(AllReduce, follows_the_simulator_with_uneven_samples) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const bool network : {false, true}) {
      const Problem problem{.learning_rate = 0.05, .momentum = 0.9, .uneven = true, .network = network};
      Simulator simulator(problem, transport.size());
      BegunWorker worker(transport, "allreduce", {}, problem);
      worker.run(100, [&](std::int64_t t) { simulator.synchronous_step(t); });
      // Compares float with double at values of order 1. The training contracts, so rounding errors do not accumulate.
      expect_near(worker.x, simulator.x[0]);
      EXPECT_TRUE(same_on_all_ranks(transport, worker.x));
    }
  });
}

TEST_P(AllReduce, gives_the_same_bits_whatever_the_buckets) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.size = 5000, .uneven = true};
    std::vector<std::vector<float>> results;
    for (const std::string bucket : {"4096", "5000", "1MiB"}) {
      BegunWorker worker(transport, "allreduce", {{"bucket-bytes", bucket}}, problem, 5);
      results.push_back(worker.x);
    }
    EXPECT_EQ(results[0], results[2]);
    EXPECT_EQ(results[1], results[2]);
  });
}

TEST_P(AllReduce, starts_a_bucket_as_soon_as_backward_has_passed_it) {
  on_ranks(GetParam(), [](Transport& transport) {
    RecordingTransport recording(transport);
    BegunWorker worker(recording, "allreduce", {{"bucket-bytes", "4096"}}, {.size = 2500});
    recording.calls.clear();
    Slice all = worker.g;
    worker.communicator().gradient_ready(all.subspan(1477));
    EXPECT_EQ(recording.text(), "");  // the bucket has 1023 of 1024 values
    worker.communicator().gradient_ready(all.subspan(1476, 1));
    EXPECT_EQ(recording.text(), "sum 1024\n");
    worker.communicator().gradient_ready(all.subspan(10, 1466));
    EXPECT_EQ(recording.text(), "sum 1024\nsum 1024\n");
    worker.communicator().gradient_ready(all.subspan(0, 10));
    EXPECT_EQ(recording.text(), "sum 1024\nsum 1024\nsum 452\n");
    EXPECT_FALSE(worker.communicator().before_update({0, 1, transport.size(), 0.1}).has_value());
    EXPECT_EQ(recording.calls.size(), 3u);
  });
}

TEST_P(AllReduce, begins_in_backward_also_with_a_small_model) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const auto& [size, bucket] : std::map<std::size_t, std::size_t>{
             {20'000, 20'000}, {100'000, 32'768}, {400'000, 50'000}, {3'000'000, 262'144}}) {
      RecordingTransport recording(transport);
      BegunWorker worker(recording, "allreduce", {}, {.size = size});
      recording.calls.clear();
      worker.communicator().gradient_ready(Slice(worker.g).last(bucket));
      EXPECT_EQ(recording.text(), "sum " + std::to_string(bucket) + "\n");
      static_cast<void>(worker.communicator().before_update({0, 1, transport.size(), 0.1}));
    }
  });
}

TEST_P(AllReduce, averages_gradients_that_nobody_announced) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "allreduce", {}, {});
    for (std::int64_t t = 0; t < 3; ++t) {
      std::fill(worker.g.begin(), worker.g.end(), 1.0f);
      EXPECT_FALSE(worker.communicator().before_update({t, 1, transport.size(), 0.1}).has_value());
      EXPECT_EQ(worker.g, std::vector<float>(worker.g.size(), static_cast<float>(transport.size())));
    }
  });
}

TEST_P(AllReduce, refuses_gradients_out_of_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "allreduce", {}, {});
    Slice all = worker.g;
    EXPECT_THROW(worker.communicator().gradient_ready(all.first(5)), Error);
    worker.communicator().gradient_ready(all.last(5));
    EXPECT_THROW(worker.communicator().gradient_ready(all.last(5)), Error);
  });
}

TEST_P(AllReduce, replicas_hold_the_same_bits_after_every_step) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "allreduce", {}, {.momentum = 0.9, .uneven = true});
    worker.run(20, [&](std::int64_t t) { EXPECT_TRUE(same_on_all_ranks(transport, worker.x)) << t; });
  });
}

TEST_P(AllReduce, refuses_buckets_that_are_too_small) {
  on_ranks(GetParam(), [](Transport& transport) {
    expect_error(ExitCode::kUsage, "at least 4096", [&] {
      Worker(transport, "allreduce", {{"bucket-bytes", "100"}}, {});
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, AllReduce, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
