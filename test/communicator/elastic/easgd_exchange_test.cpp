// A single exchange of easgd, on numbers that floats hold exactly.
#include <gtest/gtest.h>

#include "test/communicator/exchanges.h"
#include "test/communicator/recording_transport.h"
#include "test/communicator/worker.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

class Easgd : public testing::TestWithParam<Ranks> {};

TEST_P(Easgd, conserves_the_sum_of_parameters_and_center_exactly) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string order : {"paper", "after-step"}) {
      const Problem problem{.size = 40};
      Worker worker(transport, "easgd", {{"order", order}, {"tau", "1"}, {"alpha", "0.125"}, {"allow-unstable", "on"}},
                    problem);
      const std::vector<float> start = whole_numbers(transport.rank(), problem.size);
      start_at(worker, start);
      expect_conserved(
          worker, [&] { return sum_with_center(transport, worker); }, order);
      EXPECT_NE(worker.x, start);
      EXPECT_NE(worker.consensus(), std::vector<float>(problem.size));
    }
  });
}

TEST_P(Easgd, pulls_worker_and_center_by_the_same_alpha_and_once) {
  on_ranks(GetParam(), [](Transport& transport) {
    const int p = transport.size();
    for (const std::string order : {"paper", "after-step"}) {
      Worker worker(transport, "easgd", {{"order", order}, {"tau", "1"}, {"alpha", "0.25"}}, {.size = 1});
      start_at(worker, {static_cast<float>(8 * (transport.rank() + 1))});
      exchange(worker, 1);
      EXPECT_EQ(worker.x[0], static_cast<float>(6 * (transport.rank() + 1))) << order;
      EXPECT_EQ(worker.consensus()[0], static_cast<float>(2 * p * (p + 1) / 2)) << order;
    }
  });
}

TEST_P(Easgd, pulls_workers_to_the_moved_center_in_center_first_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    const float p = static_cast<float>(transport.size());
    Worker worker(transport, "easgd", {{"order", "center-first"}, {"tau", "1"}, {"alpha", "0.25"}, {"beta", "0.5"}},
                  {.size = 1});
    const float x = static_cast<float>(16 * (transport.rank() + 1));
    start_at(worker, {x});
    exchange(worker, 0);
    const float center = 0.5f * 16 * (p + 1) / 2;
    const float rounding = transport.size() == 3 ? 1e-5f : 0;  // a third of beta is not a float
    EXPECT_NEAR(worker.consensus()[0], center, rounding);
    EXPECT_NEAR(worker.x[0], x - 0.25f * (x - center), rounding);
  });
}

TEST_P(Easgd, is_averaging_for_alpha_and_beta_one_in_center_first_order) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.size = 40};
    Worker worker(transport, "easgd", {{"order", "center-first"}, {"tau", "1"}, {"alpha", "1"}, {"beta", "1"}},
                  problem);
    start_at(worker, whole_numbers(transport.rank(), problem.size));
    exchange(worker, 0);
    for (std::size_t k = 0; k < problem.size; ++k) {
      float sum = 0;
      for (int rank = 0; rank < transport.size(); ++rank) sum += whole_numbers(rank, problem.size)[k];
      const float mean = sum / static_cast<float>(transport.size());
      if (transport.size() == 3) {
        EXPECT_NEAR(worker.x[k], mean, 1e-5);  // thirds are rounded
      } else {
        EXPECT_EQ(worker.x[k], mean);
      }
    }
    EXPECT_EQ(worker.x, worker.consensus());
    EXPECT_TRUE(same_on_all_ranks(transport, worker.x));
  });
}

TEST_P(Easgd, rests_when_all_agree) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string order : {"paper", "after-step", "center-first"}) {
      BegunWorker worker(transport, "easgd", {{"order", order}, {"tau", "1"}}, {});
      for (std::int64_t t = 0; t < 50; ++t) exchange(worker, t);
      EXPECT_EQ(worker.x, Problem().start()) << order;
      EXPECT_EQ(worker.consensus(), Problem().start()) << order;
    }
  });
}

TEST_P(Easgd, center_holds_the_same_bits_on_all_ranks_after_every_exchange) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string order : {"paper", "after-step", "center-first"}) {
      BegunWorker worker(transport, "easgd", {{"order", order}, {"tau", "2"}},
                         {.size = 501, .momentum = 0.9, .uneven = true});
      worker.run(20, [&](std::int64_t t) {
        EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus())) << order << " step " << t;
      });
    }
  });
}

TEST_P(Easgd, gives_the_same_bits_with_overlap_on_and_off) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string order : {"paper", "after-step"}) {
      for (const std::string tau : {"1", "4"}) {
        std::vector<std::vector<float>> parameters, centers;
        for (const std::string overlap : {"on", "off"}) {
          BegunWorker worker(transport, "easgd", {{"order", order}, {"tau", tau}, {"overlap", overlap}},
                             {.size = 501, .momentum = 0.9, .uneven = true}, 30);
          parameters.push_back(worker.x);
          centers.push_back(worker.consensus());
        }
        EXPECT_EQ(parameters[0], parameters[1]) << order << ", tau " << tau;
        EXPECT_EQ(centers[0], centers[1]) << order << ", tau " << tau;
      }
    }
  });
}

// Collective. Which of the first seven steps post an all-reduce.
std::vector<std::int64_t> exchange_steps(Transport& transport, const Given& given) {
  RecordingTransport recording(transport);
  BegunWorker worker(recording, "easgd", given, {});
  std::vector<std::int64_t> steps;
  for (std::int64_t t = 0; t < 7; ++t) {
    const std::size_t before = recording.calls.size();
    worker.step();
    if (recording.calls.size() > before) steps.push_back(t);
    EXPECT_LE(recording.calls.size(), before + 1);
  }
  return steps;
}

TEST_P(Easgd, exchanges_after_every_tau_local_steps) {
  using Steps = std::vector<std::int64_t>;
  on_ranks(GetParam(), [](Transport& transport) {
    EXPECT_EQ(exchange_steps(transport, {{"tau", "1"}}), (Steps{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(exchange_steps(transport, {{"tau", "3"}}), (Steps{3, 6}));
    EXPECT_EQ(exchange_steps(transport, {{"tau", "3"}, {"order", "after-step"}}), (Steps{2, 5}));
    EXPECT_EQ(exchange_steps(transport, {{"tau", "3"}, {"order", "center-first"}}), (Steps{2, 5}));
    EXPECT_EQ(exchange_steps(transport, {}), Steps{});  // the default tau is 10
  });
}

TEST_P(Easgd, does_not_weigh_or_average_gradients) {
  on_ranks(GetParam(), [](Transport& transport) {
    BegunWorker worker(transport, "easgd", {}, {});
    EXPECT_EQ(worker.communicator().gradient_weight({0, 1, 100, 0.1}), 1.0f);
  });
}

TEST_P(Easgd, warns_on_rank_zero_alone_beyond_the_bound) {
  on_ranks(GetParam(), [](Transport& transport) {
    Worker unstable(transport, "easgd", {{"alpha", "1.5"}}, {});
    EXPECT_EQ(unstable.warnings.size(), transport.rank() == 0 ? 1u : 0u);
    Worker silenced(transport, "easgd", {{"alpha", "1.5"}, {"allow-unstable", "on"}}, {});
    EXPECT_TRUE(silenced.warnings.empty());
    Worker usual(transport, "easgd", {}, {});
    EXPECT_TRUE(usual.warnings.empty());
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Easgd, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
