// Tests an Averager with non-finite values, with replicas that differ, and with a center that no rank moved.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "communicator/support/plugin.h"
#include "eave/agreement.h"
#include "test/c/quadratic_loop.h"
#include "test/communicator/worker.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr std::size_t kParameters = 8;  // of the models without a QuadraticLoop

void be_nan(std::vector<float>& g) { g[7] = kNan; }

bool are_finite(const std::vector<float>& values) {
  for (const float value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

// Ranks have several ways to tell each other of non-finite gradients. The parameter is options that choose one.
class AveragedGradients : public testing::TestWithParam<std::string> {};

TEST_P(AveragedGradients, with_a_nan_on_one_rank_leave_the_step_out_on_all) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    QuadraticLoop undisturbed(transport, GetParam()), loop(transport, GetParam());
    for (int t = 0; t < 20; ++t) {
      const bool is_bad = t == 5 || t == 9;
      const std::vector<float> before = loop.x;
      EXPECT_EQ(loop.step(is_bad && transport.rank() == 1 ? be_nan : std::function<void(std::vector<float>&)>()),
                !is_bad);
      if (is_bad) {
        EXPECT_EQ(loop.x, before);
      } else {
        undisturbed.step();
      }
    }
    EXPECT_TRUE(are_finite(loop.x));
    if (GetParam().find("compression") == std::string::npos) {
      EXPECT_EQ(loop.x, undisturbed.x);
    }
    EXPECT_EQ(loop.averager.steps_left_out(), 2);
    loop.averager.finish();
    undisturbed.averager.finish();
  });
}

TEST_P(AveragedGradients, that_stay_not_finite_end_the_job_with_76_on_all_ranks) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    QuadraticLoop loop(transport, GetParam() + " nonfinite-limit=4");
    expect_thrown<AgreedError>(ExitCode::kDiverged, "step 7 is not finite", [&] {
      for (int t = 0; t < 10; ++t) loop.step(transport.rank() == 1 && t >= 3 ? be_nan : nullptr);
    });
    EXPECT_TRUE(are_finite(loop.x));
  });
}

INSTANTIATE_TEST_SUITE_P(Of, AveragedGradients,
                         testing::Values("communicator=allreduce", "communicator=allreduce compression=int8",
                                         "communicator=local-sgd post-local-at=100"),
                         [](const auto& test) { return "way_" + std::to_string(test.index); });

TEST(ParametersThatAreNotFinite, at_the_start_are_refused_on_all_ranks_and_rank_0s_alone_matter) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const auto begin_with_nan_on = [&](int bad) {
      std::vector<float> x(8, transport.rank() == bad ? kNan : 1), g(8);
      Averager(transport, "communicator=easgd", x, g).finish();
    };
    expect_thrown<AgreedError>(ExitCode::kUsage, "not finite before the first step", [&] { begin_with_nan_on(0); });
    begin_with_nan_on(1);
  });
}

TEST(HandedOverGradients, may_lie_in_tensors_without_values) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    std::vector<float> x(kParameters), g(kParameters);
    Averager averager(transport, "communicator=allreduce", x, g);
    const std::vector<float> own(kParameters, static_cast<float>(transport.rank()));
    const std::vector<const float*> values = {own.data(), nullptr, own.data(), nullptr};
    const std::vector<std::size_t> counts = {3, 0, kParameters - 3, 0};
    std::vector<std::uint8_t> has_gradient = {1, 0, 1, 0};
    for (const std::size_t first : {3, 2, 0}) {
      averager.begin_step(0, 0, 0.1);
      averager.gradients_ready({values, counts}, first);
      EXPECT_TRUE(averager.before_update(0, has_gradient, {values, counts}));
      EXPECT_EQ(averager.gradient_exchanges(), 1) << "from tensor " << first;
      EXPECT_EQ(g, std::vector<float>(kParameters, 0.5f));
      averager.after_update();
    }
    averager.finish();
  });
}

TEST(HandedOverGradients, of_a_step_come_by_one_function) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    std::vector<float> x(kParameters), g(kParameters);
    const float* values = g.data();
    const std::size_t count = kParameters;
    const auto expect_refused = [&](const std::function<void(Averager&)>& hand_over) {
      Averager averager(transport, "communicator=allreduce", x, g);
      averager.begin_step(0, 0, 0.1);
      expect_thrown<Error>(ExitCode::kUsage, "by the same function", [&] { hand_over(averager); });
    };
    expect_refused([&](Averager& averager) {
      averager.gradient_ready(4, kParameters - 4);
      averager.gradients_ready({{&values, 1}, {&count, 1}}, 0);
    });
    expect_refused([&](Averager& averager) {
      averager.gradients_ready({{&values, 1}, {&count, 1}}, 0);
      averager.gradient_ready(0, 1);
    });
  });
}

TEST(SumOfFiniteGradients, that_overflows_leaves_the_step_out) {
  on_ranks({"threads", 3}, [](Transport& transport) {
    std::vector<float> x(kParameters), g(kParameters);
    Averager averager(transport, "communicator=allreduce reduction=sum", x, g);
    for (const float share : {1.0f / 12, 1.0f / 4, 1.0f / 2, 1.0f / 12}) {
      const std::vector<float> own(kParameters, share * std::numeric_limits<float>::max());
      const float* values = own.data();
      const std::size_t count = kParameters;
      std::vector<std::uint8_t> has_gradient = {1};
      averager.begin_step(0, 0, 0.1);
      averager.gradients_ready({{&values, 1}, {&count, 1}}, 0);
      EXPECT_EQ(averager.before_update(0, has_gradient, {{&values, 1}, {&count, 1}}), share < 1.0f / 3) << share;
      averager.after_update();
    }
    EXPECT_EQ(averager.steps_left_out(), 1);
    averager.finish();
  });
}

TEST(LossThatIsNotFinite, leaves_the_step_out_on_all_ranks_though_gradients_are_finite) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    std::vector<float> x(3), g(3, 1);
    Averager averager(transport, "communicator=allreduce", x, g);
    averager.begin_step(0, 0, 0.1);
    EXPECT_FALSE(averager.before_update(transport.rank() == 1 ? std::nan("") : 1.0));
    averager.after_update();
    averager.finish();
  });
}

TEST(LocalGradients, that_are_not_finite_leave_out_the_step_of_that_rank_alone) {
  for (const char* options : {"communicator=easgd tau=2", "communicator=local-sgd tau=2", "communicator=mdownpour",
                              "communicator=easgd-async tau=2", "communicator=gossip tau=2"}) {
    on_ranks({"threads", 2}, [&](Transport& transport) {
      QuadraticLoop loop(transport, options);
      for (int t = 0; t < 12; ++t) loop.step(transport.rank() == 1 && t % 3 == 0 ? be_nan : nullptr);
      EXPECT_EQ(loop.averager.steps_left_out(), transport.rank() == 1 ? 4 : 0) << options;
      EXPECT_TRUE(are_finite(loop.x)) << options;
      EXPECT_TRUE(are_finite(loop.consensus())) << options;
      loop.averager.finish();
    });
  }
}

TEST(LocalGradients, end_the_job_at_once_if_that_is_asked_for) {
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=easgd tau=2 on-nonfinite=abort");
    loop.step();
    expect_thrown<Error>(ExitCode::kDiverged, "", [&] { loop.step(be_nan); });
  });
}

// Takes `steps` steps. The optimizer makes a parameter infinite in the last of them. Then calls `end` with the averager
// and its gradients, which must say that this step was to blame.
void expect_optimizer_blamed(const std::string& options, int steps,
                             const std::function<void(Averager&, std::vector<float>&)>& end) {
  on_ranks({"loopback", 1}, [&](Transport& transport) {
    std::vector<float> x(kParameters), g(kParameters);
    Averager averager(transport, options, x, g);
    for (int t = 1; t <= steps; ++t) {
      averager.begin_step(0, 0, 0.1);
      EXPECT_TRUE(averager.before_update(0));
      if (t == steps) x[1] = std::numeric_limits<float>::infinity();
      if (t < steps) averager.after_update();
    }
    const std::string blamed = "the optimizer has made parameters that are not finite in step " + std::to_string(steps);
    expect_thrown<Error>(ExitCode::kDiverged, blamed, [&] { end(averager, g); });
  });
}

TEST(Optimizer, that_makes_parameters_that_are_not_finite_ends_the_job_before_they_are_exchanged) {
  const auto end_step = [](Averager& averager, std::vector<float>&) { averager.after_update(); };
  for (const std::string method : {"local-sgd", "easgd", "easgd-async", "gossip", "diloco", "downpour", "easgd-tree"})
    expect_optimizer_blamed("communicator=" + method + " tau=4", 4, end_step);
  expect_optimizer_blamed("communicator=easgd tau=4 order=after-step", 4, end_step);
  expect_optimizer_blamed("communicator=diloco tau=4 tau-warmup=2", 2, end_step);
  expect_optimizer_blamed("communicator=asgd", 1, end_step);
}

TEST(Optimizer, that_makes_parameters_that_are_not_finite_is_blamed_for_the_gradients_that_follow) {
  for (const std::string options : {"communicator=allreduce", "communicator=none", "communicator=easgd tau=4",
                                    "communicator=local-sgd tau=4 post-local-at=8"})
    expect_optimizer_blamed(options, 2, [](Averager& averager, std::vector<float>& g) {
      averager.after_update();
      averager.begin_step(0, 0, 0.1);
      be_nan(g);
      averager.before_update(0);
    });
}

TEST(Optimizer, that_makes_parameters_that_are_not_finite_ends_the_job_before_they_are_used) {
  const std::vector<std::function<void(Averager&)>> uses = {
      [](Averager& averager) {
        std::vector<float> into(kParameters);
        averager.write_consensus(into);
      },
      [](Averager& averager) { averager.state(""); },
      [](Averager& averager) { averager.finish(); },
  };
  for (const auto& use : uses)
    expect_optimizer_blamed("communicator=allreduce", 2, [&](Averager& averager, std::vector<float>&) {
      averager.after_update();
      use(averager);
    });
}

// Changes a value on one rank, as if only that rank had loaded a checkpoint. Expects an error that names the rank.
void expect_named(const std::string& options, int rank, const std::function<void(QuadraticLoop&)>& go_on) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options);
    for (int t = 0; t < 3; ++t) loop.step();
    if (transport.rank() == rank) loop.x[3] += 1;
    expect_thrown<AgreedError>(ExitCode::kInternal, "rank " + std::to_string(rank) + " on ", [&] { go_on(loop); });
  });
}

TEST(Replicas, that_differ_are_named_by_the_consensus_and_on_closing) {
  expect_named("communicator=allreduce", 0, [](QuadraticLoop& loop) { loop.consensus(); });
  expect_named("communicator=allreduce", 2, [](QuadraticLoop& loop) { loop.averager.finish(); });
}

TEST(Replicas, are_compared_after_so_many_steps) {
  expect_named("communicator=allreduce replica-hash-every=5", 1, [](QuadraticLoop& loop) {
    for (int t = 0; t < 20; ++t) loop.step();
  });
}

TEST(Replicas, are_mended_if_that_is_asked_for) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=allreduce replica-hash-every=5 on-replica-fault=repair");
    loop.step();
    if (transport.rank() == 2) loop.x[3] += 1;
    for (int t = 0; t < 9; ++t) loop.step();
    EXPECT_TRUE(same_on_all_ranks(transport, loop.consensus()));
    if (transport.rank() == 2) loop.x[3] += 1;
    const std::vector<float> mended = loop.consensus();
    EXPECT_TRUE(same_on_all_ranks(transport, mended));
    EXPECT_EQ(mended, loop.x);
    loop.averager.finish();
  });
}

// The plug-in keeps its consensus until it has to make it anew.
// A program may put an average of each replica in its place, to save or to score it: the consensus is the center. An
// exchange has just placed all workers at equal values.
TEST(Replicas, of_outer_methods_may_be_changed_by_the_program_after_an_exchange) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=diloco tau=2 lr=0.1");
    for (int round = 0; round < 3; ++round) {
      loop.step();
      loop.step();
      loop.x[3] += static_cast<float>(transport.rank());
      if (round == 0) loop.averager.state("");
      if (round == 1) {
        EXPECT_TRUE(same_on_all_ranks(transport, loop.consensus()));
      }
    }
    loop.averager.finish();
  });
}

TEST(Replicas, are_mended_before_a_consensus_is_made_of_them) {
  load_plugin(FAULTY_CENTER);
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=faulty-center lr=0.1 fault=center on-replica-fault=repair");
    for (int t = 0; t < 10; ++t) loop.step();
    EXPECT_TRUE(same_on_all_ranks(transport, loop.consensus()));
    loop.averager.finish();
  });
}

std::string warnings_of(const std::string& options, int steps, bool asks) {
  testing::internal::CaptureStderr();
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options);
    for (int t = 0; t < steps; ++t) loop.step();
    if (asks) loop.consensus();
    loop.averager.finish();
  });
  return testing::internal::GetCapturedStderr();
}

TEST(Center, that_nothing_has_reached_is_warned_of_once) {
  for (const bool asks : {true, false}) {
    for (const char* options : {"communicator=diloco tau=500", "communicator=easgd", "communicator=downpour tau=100",
                                "communicator=easgd-tree tau=2 groups=2 global-tau=100"}) {
      const std::string told = warnings_of(options, 9, asks);
      EXPECT_NE(told.find("untrained"), std::string::npos) << options << told;
      EXPECT_EQ(told.find("untrained"), told.rfind("untrained")) << options << told;
    }
    EXPECT_EQ(warnings_of("communicator=easgd tau=2", 9, asks), "");
    EXPECT_EQ(warnings_of("communicator=allreduce", 9, asks), "");
    EXPECT_EQ(warnings_of("communicator=none", 9, asks), "");
    EXPECT_EQ(warnings_of("communicator=diloco tau=500", 0, asks), "");
  }
}

TEST(TensorsWithoutGradient, are_those_that_no_rank_has_one_for) {
  on_ranks({"threads", 3}, [&](Transport& transport) {
    std::vector<float> x(4), g(4, 1);
    Averager averager(transport, "communicator=allreduce", x, g);
    averager.begin_step(transport.rank() == 2 ? 0 : 1, 2, 0.1);
    // Rank 2 has no samples, so its flags do not count.
    std::vector<std::uint8_t> has = {1, static_cast<std::uint8_t>(transport.rank() == 1 ? 1 : 0), 0,
                                     static_cast<std::uint8_t>(transport.rank() == 2 ? 1 : 0)};
    averager.before_update(0, has);
    EXPECT_EQ(has, (std::vector<std::uint8_t>{1, 1, 0, 0}));
    averager.after_update();
    averager.finish();
  });
}

TEST(TensorsWithoutGradient, are_each_ranks_own_where_replicas_train_alone) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    std::vector<float> x(2), g(2, 1);
    Averager averager(transport, "communicator=local-sgd tau=5", x, g);
    averager.begin_step(0, 0, 0.1);
    std::vector<std::uint8_t> has = {1, static_cast<std::uint8_t>(transport.rank())};
    averager.before_update(0, has);
    EXPECT_EQ(has[1], transport.rank());
    averager.after_update();
    averager.finish();
  });
}

}  // namespace
}  // namespace eave
