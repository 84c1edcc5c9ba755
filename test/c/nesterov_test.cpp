// Compares EAMSGD over an Averager with the publication's equations in double. The caller's optimizer keeps parameters
// at the look-ahead point. Also tests the consensus of `none` with --average-at-end.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "eave/agreement.h"
#include "test/c/quadratic_loop.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

constexpr int kWorkers = 3, kSteps = 40, kTau = 4;
constexpr double kMomentum = 0.9, kAlpha = 0.2;
constexpr double kRate = QuadraticLoop::rate;

using Doubles = std::vector<double>;

struct Simulated {
  std::vector<Doubles> x = std::vector<Doubles>(kWorkers, Doubles(Quadratic::kSize, 1));  // the iterates
  Doubles center = Doubles(Quadratic::kSize, 1);
};

// Zhang, Choromanska, LeCun 2015, equations 5 and 6, with a velocity w that holds the learning rate:
//   w <- delta w - eta g(x + delta w);  x <- x + w - alpha (x - c);  c <- c + alpha sum (x_i - c).
Simulated simulate() {
  Simulated all;
  std::vector<Doubles> w(kWorkers, Doubles(Quadratic::kSize, 0));
  for (int t = 0; t < kSteps; ++t) {
    const bool exchanges = t > 0 && t % kTau == 0;
    for (std::size_t k = 0; k < Quadratic::kSize; ++k) {
      double sum = 0;
      for (int i = 0; i < kWorkers; ++i) {
        auto& x = all.x[static_cast<std::size_t>(i)][k];
        auto& velocity = w[static_cast<std::size_t>(i)][k];
        const double pull = exchanges ? kAlpha * (x - all.center[k]) : 0;
        velocity = kMomentum * velocity - kRate * Quadratic::gradient(i, k, x + kMomentum * velocity);
        x += velocity - pull;
        sum += pull;
      }
      all.center[k] += sum;
    }
  }
  return all;
}

// A loop with the update of PyTorch's SGD with nesterov=True: v <- delta v + g; y <- y - eta (g + delta v).
struct NesterovLoop : QuadraticLoop {
  NesterovLoop(Transport& a_transport, const std::string& options)
      : QuadraticLoop(a_transport, options), velocity(Quadratic::kSize) {
    averager.look_ahead({velocity, static_cast<float>(kRate * kMomentum)});
  }

  void step() {
    averager.begin_step(0, 0, kRate);
    for (std::size_t k = 0; k < x.size(); ++k) g[k] = Quadratic::gradient(transport.rank(), k, x[k]);
    ASSERT_TRUE(averager.before_update(0));
    for (std::size_t k = 0; k < x.size(); ++k) {
      velocity[k] = static_cast<float>(kMomentum) * velocity[k] + g[k];
      x[k] -= static_cast<float>(kRate) * (g[k] + static_cast<float>(kMomentum) * velocity[k]);
    }
    averager.after_update();
  }

  std::vector<float> velocity;
};

const std::string kOptions = "communicator=easgd tau=4 alpha=0.2 nesterov=on momentum=0.9";

TEST(Eamsgd, of_a_loop_with_a_look_ahead_is_that_of_the_publication) {
  const Simulated expected = simulate();
  on_ranks({"threads", kWorkers}, [&](Transport& transport) {
    NesterovLoop loop(transport, kOptions);
    for (int t = 0; t < kSteps; ++t) loop.step();
    const std::vector<float> center = loop.consensus();
    const auto& iterate = expected.x[static_cast<std::size_t>(transport.rank())];
    for (std::size_t k = 0; k < Quadratic::kSize; ++k) {
      EXPECT_NEAR(center[k], expected.center[k], 2e-5);  // float32 against double over 40 steps
      EXPECT_NEAR(loop.x[k] + kRate * kMomentum * loop.velocity[k], iterate[k], 2e-5);
    }
    loop.averager.finish();
  });
}

TEST(Eamsgd, is_refused_until_the_velocity_is_known) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    std::vector<float> x(3), g(3);
    Averager averager(transport, "communicator=easgd nesterov=on", x, g);
    expect_thrown<Error>(ExitCode::kUsage, "eave_look_ahead", [&] { averager.begin_step(0, 0, 0.1); });
  });
}

TEST(LookAhead, is_refused_without_nesterov_and_with_a_factor_that_is_not_finite) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    std::vector<float> x(3), g(3), velocity(3);
    Averager plain(transport, "communicator=easgd", x, g), ahead(transport, "communicator=easgd nesterov=on", x, g);
    expect_thrown<Error>(ExitCode::kUsage, "no effect without nesterov=on", [&] { plain.look_ahead({velocity, 1}); });
    for (const float factor : {std::nanf(""), std::numeric_limits<float>::infinity()})
      expect_thrown<Error>(ExitCode::kUsage, "the factor is not finite", [&] { ahead.look_ahead({velocity, factor}); });
    ahead.look_ahead({velocity, 1});
  });
}

TEST(LookAhead, ends_the_job_if_an_exchange_would_read_a_velocity_that_is_not_finite) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    NesterovLoop loop(transport, kOptions);
    for (int t = 1; t < kTau; ++t) loop.step();
    loop.velocity[2] = std::nanf("");
    loop.averager.begin_step(0, 0, kRate);
    EXPECT_TRUE(loop.averager.before_update(0));
    expect_thrown<Error>(ExitCode::kDiverged, "a velocity (look_ahead) that is not finite in step 4",
                         [&] { loop.averager.after_update(); });
  });
}

TEST(NoneWithAverageAtEnd, has_the_mean_of_all_ranks_as_its_consensus_at_any_time) {
  on_ranks({"threads", kWorkers}, [](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=none average-at-end=on"), alone(transport, "communicator=none");
    for (int t = 0; t < 6; ++t) {
      loop.step();
      alone.step();
      if (t % 2 == 0) continue;
      const std::vector<float> mean = loop.consensus();
      for (std::size_t k = 0; k < 3; ++k) {
        const double sum = sum_over_ranks(transport, {loop.x[k]})[0];
        EXPECT_NEAR(mean[k], sum / kWorkers, 1e-6);
      }
      EXPECT_EQ(loop.x, alone.x);  // to ask for the consensus changes nothing
    }
    loop.averager.finish();
    alone.averager.finish();
  });
}

}  // namespace
}  // namespace eave
