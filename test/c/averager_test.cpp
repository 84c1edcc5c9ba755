// Tests that a loop over Averager ends with the same values as the trainer's loop over the same communicator, and what
// Averager refuses.
#include "c/averager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "communicator/support/plugin.h"
#include "eave/agreement.h"
#include "test/c/averager_loop.h"
#include "test/c/quadratic_loop.h"
#include "test/communicator/every_communicator.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// Runs the trainer's loop with eave's optimizer, which applies the elastic pull in the pass of its step.
LoopEnded run_trainer(Transport& transport, const std::string& communicator, const Given& given) {
  Worker worker(transport, communicator, given, kLoopProblem);
  worker.begin();
  worker.run(kLoopSteps);
  LoopEnded ended{worker.x, worker.consensus()};
  worker.communicator().finish();
  return ended;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], expected[k], 1e-5) << "value " << k;
}

class Averagers : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(Averagers, end_where_the_trainer_ends_with_uneven_batches) {
  const auto& [name, ranks] = GetParam();
  on_ranks({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    const Given given = frequent_exchanges(name, transport.size());
    const LoopEnded expected = run_trainer(transport, name, given);
    const LoopEnded got = run_averager_loop(transport, cpu_device(), averager_options(name, given));
    expect_near(got.parameters, expected.parameters);
    expect_near(got.consensus, expected.consensus);
    EXPECT_TRUE(same_on_all_ranks(transport, got.consensus));
  });
}

// Ranks cut the parts differently, and rank 0 hands over none before the update.
TEST_P(Averagers, end_with_the_same_bits_if_gradients_are_handed_over_in_parts) {
  const auto& [name, ranks] = GetParam();
  on_ranks({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    const std::string options = averager_options(name, frequent_exchanges(name, transport.size()));
    const auto parts = static_cast<std::size_t>(ranks == 1 ? 2 : 2 * transport.rank());
    const LoopEnded expected = run_averager_loop(transport, cpu_device(), options);
    const LoopEnded got = run_averager_loop(transport, cpu_device(), options, parts);
    EXPECT_EQ(got.parameters, expected.parameters);
    EXPECT_EQ(got.consensus, expected.consensus);
  });
}

TEST_P(Averagers, end_with_the_same_bits_if_gradients_lie_apart) {
  const auto& [name, ranks] = GetParam();
  on_ranks({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    const std::string options = averager_options(name, frequent_exchanges(name, transport.size()));
    const LoopEnded expected = run_averager_loop(transport, cpu_device(), options);
    for (const bool is_early : {false, true}) {
      HandOver how{.is_apart = true, .is_early = is_early};
      const LoopEnded got = run_averager_loop(transport, cpu_device(), options, how);
      EXPECT_EQ(got.parameters, expected.parameters);
      EXPECT_EQ(got.consensus, expected.consensus);
      EXPECT_LE(std::ranges::max(how.exchanges), 1);
    }
  });
}

// Half of the values may change their sign, which keeps the sum of their bits.
TEST(Averager, exchanges_gradients_again_if_one_rank_has_changed_them) {
  for (const std::string more : {"", " compression=bf16"})
    on_ranks({"threads", 3}, [&](Transport& transport) {
      const std::string options = averager_options("allreduce", {}, more);
      const LoopEnded expected = run_averager_loop(transport, cpu_device(), options);
      HandOver how{.is_apart = true, .is_early = true, .changed_on = 1};
      const LoopEnded got = run_averager_loop(transport, cpu_device(), options, how);
      EXPECT_EQ(got.parameters, expected.parameters);
      EXPECT_TRUE(same_on_all_ranks(transport, got.parameters));
      EXPECT_EQ(std::ranges::min(how.exchanges), 1);  // the rank has no samples
      // A repeated exchange would change the residuals twice, so compressed gradients are not exchanged early.
      EXPECT_EQ(std::ranges::max(how.exchanges), more.empty() ? 2 : 1);
    });
}

TEST(Averager, leaves_out_a_step_whose_gradients_lie_apart_and_are_not_finite) {
  for (const std::string name : {"none", "allreduce"})
    on_ranks({"threads", 2}, [&](Transport& transport) {
      std::vector<float> x(4, 1.0F), vector(4, 0.0F), g(4, 1.0F);
      Averager averager(transport, averager_options(name, {}), x, vector);
      const std::vector<const float*> values = {g.data(), g.data() + 1};
      const std::vector<std::size_t> counts = {1, 3};
      for (const bool is_finite : {true, false}) {
        g[3] = is_finite || transport.rank() == 0 ? 1.0F : std::numeric_limits<float>::infinity();
        std::vector<std::uint8_t> has_gradient = {1, 1};
        averager.begin_step(0, 0, 0.1);
        const bool leaves_out = !is_finite && (name == "allreduce" || transport.rank() == 1);
        EXPECT_EQ(averager.before_update(0, has_gradient, {values, counts}), !leaves_out);
        EXPECT_EQ(averager.gradient_exchanges(), name == "none" ? 0 : 1);
        averager.after_update();
      }
      averager.finish();
    });
}

// The plug-in takes no part of the gradients before before_update.
TEST(Averager, lets_a_plug_in_average_gradients_that_lie_apart) {
  load_plugin(SIGN_VOTE);
  on_ranks({"threads", 3}, [&](Transport& transport) {
    const float own = transport.rank() == 0 ? 5.0F : -0.5F;
    std::vector<float> x(4, 1.0F), vector(4, 0.0F), g = {own, 2, -own, 0};
    Averager averager(transport, averager_options("sign-vote", {{"vote-scale", "0.5"}}), x, vector);
    const std::vector<const float*> values = {g.data(), g.data() + 1};
    const std::vector<std::size_t> counts = {1, 3};
    std::vector<std::uint8_t> has_gradient = {1, 1};
    averager.begin_step(0, 0, 0.1);
    EXPECT_TRUE(averager.before_update(0, has_gradient, {values, counts}));
    EXPECT_EQ(vector, (std::vector<float>{-0.5F, 0.5F, 0.5F, 0}));
    EXPECT_EQ(averager.gradient_exchanges(), 1);
    averager.after_update();
    averager.finish();
  });
}

TEST(Averager, leaves_out_a_step_of_a_plug_in_on_all_ranks) {
  load_plugin(SIGN_VOTE);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  on_ranks({"threads", 2}, [&](Transport& transport) {
    std::vector<float> x(4, 1.0F), g(4, 1.0F);
    Averager averager(transport, averager_options("sign-vote", {}), x, g);
    const auto updates = [&](float loss, float gradient) {
      std::ranges::fill(g, 1.0F);
      if (transport.rank() == 1) g[2] = gradient;
      averager.begin_step(0, 0, 0.1);
      const bool result = averager.before_update(transport.rank() == 1 ? loss : 0);
      averager.after_update();
      return result;
    };
    EXPECT_FALSE(updates(kNan, 1));
    EXPECT_FALSE(updates(0, kNan));
    EXPECT_TRUE(updates(0, 1));
    averager.finish();
  });
}

std::vector<std::tuple<std::string, int>> all_methods() {
  std::vector<std::tuple<std::string, int>> all;
  for (const int ranks : {1, 2, 3})
    for (const std::string& name : communicator_names(ranks)) all.emplace_back(name, ranks);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, Averagers, testing::ValuesIn(all_methods()), [](const auto& test) {
  return identifier(std::get<0>(test.param)) + "_" + std::to_string(std::get<1>(test.param));
});

// The error that both of two ranks get if an Averager cannot be made.
struct Refused {
  ExitCode code = ExitCode::kDone;
  std::string message;
};

Refused refused(const std::string& options, const std::string& of_rank_1) {
  Refused found[2];
  on_ranks({"threads", 2}, [&](Transport& transport) {
    std::vector<float> x(3), g(3);
    try {
      const Averager averager(transport, transport.rank() == 0 ? options : of_rank_1, x, g);
    } catch (const AgreedError& error) {
      found[transport.rank()] = {error.code(), error.what()};
    }
  });
  EXPECT_EQ(found[0].message, found[1].message);
  return found[0];
}

void expect_refused(const std::string& options, ExitCode code, const std::string& words,
                    const std::string& of_rank_1 = "") {
  const Refused found = refused(options, of_rank_1.empty() ? options : of_rank_1);
  EXPECT_EQ(found.code, code) << options;
  EXPECT_NE(found.message.find(words), std::string::npos) << found.message;
}

TEST(AveragerOptions, that_mean_nothing_are_refused_on_all_ranks) {
  expect_refused("communicator=easgdd", ExitCode::kUsage, "did you mean easgd");
  expect_refused("communicator=easgd tua=3", ExitCode::kUsage, "tau");
  expect_refused("communicator=easgd tau", ExitCode::kUsage, "expected name=value");
  expect_refused("communicator=easgd tau=none", ExitCode::kUsage, "tau=none: expected");
  expect_refused("communicator=easgd tau=0", ExitCode::kUsage, "tau=0: expected");
  expect_refused("communicator=easgd --tau=3", ExitCode::kUsage, "no dashes before their names: tau=3");
  expect_refused("communicator=easgd tuba=3", ExitCode::kUsage, "unknown option tuba; ");
  expect_refused("communicator=easgd communicator=allreduce", ExitCode::kUsage, "'communicator' is given twice");
  expect_refused("communicator=easgd tau=3 tau=3", ExitCode::kUsage, "'tau' is given twice");
  expect_refused("communicator=easgd-tree groups=0, 1 , tau=3", ExitCode::kUsage, "group 3 is empty");
  expect_refused("plugin=~nobody-is-called-so/a.so", ExitCode::kUsage, "no user 'nobody-is-called-so'");
  expect_refused("limit-step=10", ExitCode::kUsage, "a time with its unit, such as 5ms, 2s, 10m or 1h");
  expect_refused("communicator=easgd-async center-ranks=1", ExitCode::kUsage, "center-ranks");
  expect_refused("communicator=easgd-async replay=run", ExitCode::kUsage, "repeats a run of eave train");
  expect_refused("communicator=asgd", ExitCode::kUsage, "one rank");
}

TEST(AveragerOptions, that_differ_are_refused_with_both) {
  expect_refused("tau=3 communicator=easgd", ExitCode::kConfiguration,
                 "'tau=3 communicator=easgd' for 3 parameters, rank 1 the options 'tau=4", "tau=4 communicator=easgd");
}

TEST(AveragerOptions, are_for_the_same_number_of_parameters_on_all_ranks) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    std::vector<float> x(3 + static_cast<std::size_t>(transport.rank())), g(x.size());
    expect_thrown<AgreedError>(ExitCode::kConfiguration, "for 3 parameters, rank 1 the options",
                               [&] { const Averager averager(transport, "communicator=easgd", x, g); });
  });
}

TEST(AveragerSteps, out_of_turn_are_refused) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    std::vector<float> x(3), g(3);
    Averager averager(transport, "communicator=easgd", x, g);
    EXPECT_THROW(averager.after_update(), Error);
    EXPECT_THROW(averager.before_update(0), Error);
    averager.begin_step(0, 0, 0.1);
    EXPECT_THROW(averager.begin_step(0, 0, 0.1), Error);
    EXPECT_THROW(averager.write_consensus(x), Error);
    EXPECT_TRUE(averager.before_update(0));
    averager.after_update();
    EXPECT_THROW(averager.begin_step(3, 2, 0.1), Error);
  });
}

constexpr std::size_t kOverlapped = 5000;  // two buckets of the smallest size

// Takes four steps, in which rank 1 hands over every gradient in two parts and rank 0 hands over none. The middle ones
// are spoilt on rank 1, one by a gradient in the part that is handed over first, one by the loss. Returns the
// parameters at the end.
std::vector<float> overlap_spoilt_steps(Transport& transport, const std::string& options,
                                        std::vector<std::uint8_t> has_gradient) {
  std::vector<float> x(kOverlapped, 1), g(kOverlapped);
  Averager averager(transport, options, x, g);
  for (int step = 0; step < 4; ++step) {
    averager.begin_step(0, 0, 0.1);
    std::ranges::fill(g, static_cast<float>(1 + transport.rank()));
    const bool is_mine = transport.rank() == 1;
    if (step == 1 && is_mine) g.back() = std::numeric_limits<float>::infinity();
    if (is_mine) averager.gradient_ready(1000, kOverlapped - 1000);
    if (is_mine) averager.gradient_ready(0, 1000);
    const bool updates = averager.before_update(step == 2 && is_mine ? std::nan("") : 1.0, has_gradient);
    EXPECT_EQ(updates, step == 0 || step == 3) << "step " << step;
    for (std::size_t k = 0; updates && k < x.size(); ++k) x[k] -= g[k];
    averager.after_update();
  }
  EXPECT_EQ(averager.steps_left_out(), 2);
  averager.finish();
  return x;
}

TEST(AveragerGradients, handed_over_are_left_out_everywhere_if_one_rank_has_no_finite_step) {
  for (const char* const more : {"", " compression=int8"}) {
    for (const std::size_t flags : {0, 2}) {
      on_ranks({"threads", 2}, [&](Transport& transport) {
        const std::vector<float> x =
            overlap_spoilt_steps(transport, "communicator=allreduce bucket-bytes=4096" + std::string(more),
                                 std::vector<std::uint8_t>(flags, 1));
        for (const float value : x) ASSERT_NEAR(value, 1 - 2 * 1.5, 1e-2);
      });
    }
  }
}

TEST(AveragerGradients, are_handed_over_within_a_step_from_the_end_without_gaps) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    std::vector<float> x(9), g(9);
    Averager averager(transport, "communicator=allreduce", x, g);
    EXPECT_THROW(averager.gradient_ready(0, 9), Error);
    averager.begin_step(0, 0, 0.1);
    averager.gradient_ready(7, 2);
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{7, 2}, {4, 2}, {5, 3}, {8, 9}})
      EXPECT_THROW(averager.gradient_ready(first, count), Error) << first;
    averager.gradient_ready(5, 2);
    averager.gradient_ready(0, 5);
    EXPECT_TRUE(averager.before_update(0));
    EXPECT_THROW(averager.gradient_ready(0, 0), Error);
    averager.after_update();
  });
}

TEST(AveragerDescription, holds_the_equation_and_warnings) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    std::vector<float> x(3), g(3);
    Averager averager(transport, "communicator=easgd tau=1 alpha=0.9", x, g);
    EXPECT_NE(averager.description().find("tau"), std::string::npos) << averager.description();
    if (transport.rank() == 0) {
      EXPECT_NE(averager.description().find("\nwarning: "), std::string::npos) << averager.description();
    }
    averager.finish();
  });
}

TEST(AveragerDescription, leaves_words_behind_an_option_without_a_value_alone) {
  OptionValues values;
  values.declare({"global-tau", OptionType::kInteger, "", ""});
  values.declare({"tau", OptionType::kInteger, "10", ""});
  EXPECT_EQ(in_words_of_averager("give a smaller --global-tau or --tau 10, --tau 1 or --beta 0.9", values),
            "give a smaller global-tau or tau=10, tau 1 or beta 0.9");
}

TEST(AveragerDescription, names_options_as_an_averager_takes_them) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    std::vector<float> x(3), g(3);
    Averager averager(transport, "communicator=local-sgd tau=10 steps=5", x, g);
    if (transport.rank() == 0)
      expect_parts(averager.description(), {"with tau=10: ", "; give a smaller tau or train longer"});
    EXPECT_EQ(averager.description().find("--"), std::string::npos) << averager.description();
    averager.finish();
  });
}

}  // namespace
}  // namespace eave
