// local-sgd against a simulator in double, with all treatments of momentum and with adaptive tau.
#include <cmath>

#include "communicator/support/local_steps.h"
#include "eave/agreement.h"
#include "eave/check.h"
#include "test/communicator/averaging_simulator.h"
#include "test/communicator/recording_transport.h"
#include "test/expectations.h"

namespace eave {
namespace {

class LocalSgd : public testing::TestWithParam<Ranks> {};

TEST_P(LocalSgd, follows_the_simulator_for_100_steps_with_every_treatment_of_momentum) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const AveragingCourse& course : averaging_courses()) {
      for (const std::string momentum : {"local", "average", "reset"}) {
        if (course.momentum == 0 && momentum != "local") continue;
        SCOPED_TRACE(course.describe() + ", " + momentum);
        const Problem problem = course.problem();
        AveragingSimulator simulator(problem, transport.size());
        BegunWorker worker(transport, "local-sgd", {{"tau", std::to_string(course.tau)}, {"worker-momentum", momentum}},
                           problem);
        worker.run(100, [&](std::int64_t t) { simulator.local_sgd_step(t, course.tau, momentum); });
        expect_near(worker.x, simulator.x[me(transport)]);
      }
    }
  });
}

TEST(LocalSgdMomentum, treatments_differ_by_far_more_than_the_tolerance_above) {
  std::vector<Doubles> workers;
  for (const std::string momentum : {"local", "average", "reset"}) {
    AveragingSimulator simulator({.learning_rate = 0.05, .momentum = 0.9}, 2);
    for (std::int64_t t = 0; t < 7; ++t) simulator.local_sgd_step(t, 3, momentum);
    workers.push_back(simulator.x[0]);
  }
  for (const std::size_t other : {1u, 2u}) expect_apart({workers[0], workers[other]}, 1e-2);
}

TEST_P(LocalSgd, consensus_is_what_an_exchange_now_would_give) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.momentum = 0.9, .uneven = true};
    AveragingSimulator simulator(problem, transport.size());
    BegunWorker worker(transport, "local-sgd", {{"tau", "5"}}, problem);
    for (std::int64_t t = 0; t < 14; ++t) {
      worker.step();
      simulator.local_sgd_step(t, 5, "local");
      const Doubles expected = simulator.samples_since() > 0 ? simulator.mean_of(simulator.x) : simulator.x[0];
      expect_near(worker.consensus(), expected);
    }
  });
}

TEST_P(LocalSgd, with_tau_1_and_plain_sgd_is_allreduce) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const bool uneven : {false, true}) {
      const Problem problem{.learning_rate = 0.05, .uneven = uneven};
      BegunWorker local(transport, "local-sgd", {{"tau", "1"}}, problem, 100),
          together(transport, "allreduce", {}, problem, 100);
      // Compares x - lr mean(g) with mean(x - lr g). They round in different places. With 3 ranks, three times a
      // rounded third is 1 + 3e-8, and here this error multiplies x, not only g.
      for (std::size_t k = 0; k < problem.size; ++k) EXPECT_NEAR(local.x[k], together.x[k], 1e-5);
    }
  });
}

TEST_P(LocalSgd, averages_gradients_before_post_local_at_with_the_bits_of_allreduce) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.05, .momentum = 0.9, .uneven = true};
    AveragingSimulator simulator(problem, transport.size());
    RecordingTransport recording(transport);
    BegunWorker local(recording, "local-sgd", {{"tau", "4"}, {"post-local-at", "10"}}, problem),
        together(transport, "allreduce", {}, problem);
    for (std::int64_t t = 0; t < 10; ++t) {
      local.step();
      together.step();
      simulator.synchronous_step(t);
      EXPECT_EQ(local.x, together.x) << t;
      EXPECT_EQ(local.consensus(), together.x) << t;
    }
    expect_near(local.x, simulator.x[0]);
    recording.calls.clear();
    for (std::int64_t t = 0; t < 12; ++t) {
      local.step();
      simulator.step_alone(t + 10);
      if (t % 4 == 3) simulator.place_workers(simulator.mean_of(simulator.x), "local");
      expect_near(local.x, simulator.x[me(transport)]);
    }
    EXPECT_EQ(recording.text(), "sum 37\nsum 37\nsum 37\n");
  });
}

// top-k sends few of the differences, and the other velocities stay those of the last step that averaged gradients.
TEST_P(LocalSgd, keeps_the_momentum_of_averaged_gradients_under_compression) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 1) return;  // nothing is compressed
    const Problem problem{.learning_rate = 0.05, .momentum = 0.9};
    BegunWorker worker(transport, "local-sgd",
                       {{"tau", "1"}, {"post-local-at", "5"}, {"worker-momentum", "average"}, {"compression", "top-k"}},
                       problem, 5);
    const Slice velocity = worker.optimizer_state()[0];
    const std::vector<float> before(velocity.begin(), velocity.end());
    worker.step();
    int moved_before = 0, kept = 0;
    for (std::size_t k = 0; k < velocity.size(); ++k) {
      if (before[k] == 0) continue;  // its gradient has not been sent
      ++moved_before;
      kept += velocity[k] == before[k] ? 1 : 0;
      EXPECT_NE(velocity[k], 0) << k;
    }
    EXPECT_GE(moved_before, 3);
    EXPECT_GE(2 * kept, moved_before);
  });
}

TEST_P(LocalSgd, exchanges_after_every_step_of_the_warm_up) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.uneven = true};
    RecordingTransport recording(transport);
    BegunWorker worker(recording, "local-sgd", {{"tau", "5"}, {"tau-warmup", "3"}}, problem);
    std::string exchanges;
    for (std::int64_t t = 0; t < 14; ++t) {
      recording.calls.clear();
      worker.step();
      exchanges += recording.calls.empty() ? '.' : 'x';
    }
    EXPECT_EQ(exchanges, "xxx....x....x.");
  });
}

TEST_P(LocalSgd, exchanges_in_one_allreduce_and_one_more_for_each_vector_that_is_averaged) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string momentum : {"local", "reset", "average"}) {
      RecordingTransport recording(transport);
      BegunWorker worker(recording, "local-sgd", {{"tau", "5"}, {"worker-momentum", momentum}}, {.momentum = 0.9});
      recording.calls.clear();
      worker.run(4);
      EXPECT_EQ(recording.text(), "");
      worker.run(1);
      EXPECT_EQ(recording.text(), momentum == "average" ? "sum 37\nsum 37\n" : "sum 37\n");
    }
  });
}

// AdamW's two vectors are set to whole numbers whose means are exact on 1, 2 and 4 ranks.
TEST_P(LocalSgd, treats_all_vectors_of_the_optimizer_alike) {
  on_ranks(GetParam(), [](Transport& transport) {
    if (transport.size() == 3) return;  // thirds are rounded
    const float rank = static_cast<float>(transport.rank()), mean = static_cast<float>(transport.size() - 1) / 2;
    for (const std::string momentum : {"local", "reset", "average"}) {
      std::vector<float> x(5), g(5), first(5, 4 * rank), second(5, 8 * rank + 1);
      const CommunicatorKind& kind = find_kind(communicator_kinds(), "local-sgd");
      const OptionValues values = values_of(kind.options, {{"tau", "1"}, {"worker-momentum", momentum}});
      std::vector<std::string> warnings;
      const auto communicator = kind.make({transport, values, 0.1, warnings});
      communicator->begin({x, g, {}, {first, second}});
      x.assign(5, rank);
      const Step step{.samples = 2, .samples_everywhere = 2 * transport.size(), .learning_rate = 0.1};
      communicator->before_gradients(step);
      communicator->after_update(step);
      EXPECT_EQ(x, std::vector<float>(5, mean));
      const bool kept = momentum == "local", reset = momentum == "reset";
      EXPECT_EQ(first, std::vector<float>(5, kept ? 4 * rank : reset ? 0 : 4 * mean));
      EXPECT_EQ(second, std::vector<float>(5, kept ? 8 * rank + 1 : reset ? 0 : 8 * mean + 1));
    }
  });
}

// A reference for --adaptive-tau (AdaComm), step by step in double. The losses of the warm-up do not count.
struct AdaptiveSimulator {
  AdaptiveSimulator(const Problem& problem, int ranks, std::int64_t tau_, std::int64_t warmup_)
      : workers(problem, ranks), tau0(tau_), tau(tau_), warmup(warmup_) {}

  // The operations of this step.
  std::string step(std::int64_t t) {
    workers.step_alone(t);
    if (t < warmup) return meet();
    if (++steps < tau) return "";
    const double loss = workers.loss_since / workers.samples_since();
    if (first_loss == 0) first_loss = loss;
    tau = static_cast<std::int64_t>(std::ceil(std::sqrt(loss / first_loss) * static_cast<double>(tau0)));
    steps = 0;
    return meet() + "texts\ntexts\n";
  }

  std::string meet() {
    workers.place_workers(workers.mean_of(workers.x), "local");
    return "sum 37\n";
  }

  AveragingSimulator workers;
  std::int64_t tau0, tau, warmup, steps = 0;
  double first_loss = 0;
};

TEST_P(LocalSgd, shortens_tau_with_the_root_of_the_loss_since_its_warm_up_on_all_ranks_alike) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02, .uneven = true};
    for (const std::int64_t warmup : {0, 5}) {
      AdaptiveSimulator simulator(problem, transport.size(), 16, warmup);
      RecordingTransport recording(transport);
      BegunWorker worker(recording, "local-sgd",
                         {{"tau", "16"}, {"adaptive-tau", "on"}, {"tau-warmup", std::to_string(warmup)}}, problem);
      for (std::int64_t t = 0; t < 200; ++t) {
        recording.calls.clear();
        worker.step();
        ASSERT_EQ(recording.text(), simulator.step(t)) << t << ", warm-up " << warmup;
        expect_near(worker.x, simulator.workers.x[me(transport)]);
      }
      EXPECT_LT(simulator.tau, 16) << "and not by chance";
    }
  });
}

// Of rank 0's steps whose loss is NaN, neither loss nor samples count. The other ranks have a loss of 1 per sample.
TEST_P(LocalSgd, adapts_tau_without_the_steps_that_have_no_loss) {
  on_ranks(GetParam(), [](Transport& transport) {
    LocalSteps steps(transport, {.tau = 4, .adaptive = true});
    const std::int64_t samples = 3, of_all = samples * transport.size();
    const auto tau_after = [&](const std::vector<double>& losses_of_first) {
      Step step{0, samples, of_all};
      for (const double loss : losses_of_first) {
        step.loss_sum = samples * (transport.rank() == 0 ? loss : 1.0);
        steps.end_step(step);
      }
      steps.adapt(of_all * std::ssize(losses_of_first));
      return steps.tau();
    };
    EXPECT_EQ(tau_after({NAN, NAN, NAN, NAN}), 4) << "with one rank there is no first loss yet";
    EXPECT_EQ(tau_after({NAN, 1, INFINITY, 1}), 4);
    EXPECT_EQ(tau_after({1, 1, 1, 1}), 4);
    EXPECT_EQ(tau_after({NAN, 1, 1, 1}), 4);
    EXPECT_EQ(tau_after({NAN, NAN, NAN, NAN}), 4);
    EXPECT_GT(tau_after({100, 100, 100, 100}), 4);
  });
}

TEST_P(LocalSgd, resumes_in_the_middle_of_anything_with_the_same_bits) {
  on_ranks(GetParam(), [](Transport& transport) {
    const Problem problem{.learning_rate = 0.02, .momentum = 0.9, .uneven = true};
    const std::vector<Given> settings = {{{"tau", "7"}, {"adaptive-tau", "on"}},
                                         {{"tau", "6"}, {"adaptive-tau", "on"}, {"tau-warmup", "3"}},
                                         {{"tau", "7"}, {"post-local-at", "12"}},
                                         {{"tau", "7"}, {"post-local-at", "12"}, {"adaptive-tau", "on"}},
                                         {{"tau", "7"}, {"tau-warmup", "5"}, {"worker-momentum", "average"}}};
    for (const Given& given : settings) {
      for (std::int64_t at : {2, 7, 16, 33}) expect_to_resume(transport, "local-sgd", given, problem, 60, at);
    }
  });
}

TEST_P(LocalSgd, refuses_to_treat_momentum_that_the_optimizer_has_not) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string momentum : {"average", "reset"}) {
      Worker worker(transport, "local-sgd", {{"worker-momentum", momentum}}, {});
      try {
        worker.begin();
        ADD_FAILURE();
      } catch (const AgreedError& error) {
        EXPECT_EQ(error.code(), ExitCode::kUsage);
        EXPECT_TRUE(says(error.what(), "--worker-momentum " + momentum));
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, LocalSgd, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
