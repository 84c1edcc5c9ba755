// The stability bounds of easgd, compared with the spectral radius of an exchange and with real training.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "communicator/elastic/easgd_settings.h"
#include "test/communicator/exchanges.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// The spectral radius of the map that takes (mean worker, center) from one exchange to the next on h x²/2, with
// q = learning rate times h. Applying the equations to the two unit vectors gives the matrix of the map.
double spectral_radius(ElasticOrder order, double alpha, double beta, std::int64_t tau, double q) {
  const auto cycle = [&](double x, double c) -> std::pair<double, double> {
    if (order == ElasticOrder::kPaper) {
      const double pulled = x - q * x - alpha * (x - c);
      c += beta * (x - c);
      return {pulled * std::pow(1 - q, static_cast<double>(tau - 1)), c};
    }
    x *= std::pow(1 - q, static_cast<double>(tau));
    if (order == ElasticOrder::kAfterStep) return {x - alpha * (x - c), c + beta * (x - c)};
    c += beta * (x - c);
    return {x - alpha * (x - c), c};
  };
  const auto [a, b] = cycle(1, 0);
  const auto [c, d] = cycle(0, 1);
  const std::complex<double> root = std::sqrt(std::complex<double>((a - d) * (a - d) / 4 + b * c));
  return std::max(std::abs((a + d) / 2 + root), std::abs((a + d) / 2 - root));
}

const double kCurvatures[] = {0.001, 0.1, 0.5, 0.9, 1};

TEST(EasgdStability, limit_is_where_the_spectral_radius_crosses_one) {
  for (const ElasticOrder order : {ElasticOrder::kPaper, ElasticOrder::kAfterStep}) {
    for (const int p : {1, 2, 3, 4, 8, 64}) {
      for (const std::int64_t tau : {1, 2, 5, 10}) {
        for (const double q : kCurvatures) {
          const double limit = stable_alpha_limit(order, p, tau, q);
          SCOPED_TRACE("p " + std::to_string(p) + " tau " + std::to_string(tau) + " q " + std::to_string(q));
          EXPECT_LT(spectral_radius(order, 0.999 * limit, 0.999 * p * limit, tau, q), 1);
          EXPECT_GT(spectral_radius(order, 1.001 * limit, 1.001 * p * limit, tau, q), 1);
        }
      }
    }
  }
}

TEST(EasgdStability, limit_of_the_paper_order_at_tau_one_is_the_published_formula) {
  for (const int p : {1, 2, 4, 8}) {
    for (const double q : {0.0, 0.25, 0.5, 1.0}) {
      EXPECT_NEAR(stable_alpha_limit(ElasticOrder::kPaper, p, 1, q), (4 - 2 * q) / (2 * (1 + p) - p * q), 1e-12);
    }
  }
}

TEST(EasgdStability, two_over_one_plus_p_is_the_worst_case_where_the_warning_says_so) {
  for (const int p : {1, 2, 4, 8, 64}) {
    for (const std::int64_t tau : {1, 2, 5, 10}) {
      EXPECT_NEAR(stable_alpha_limit(ElasticOrder::kPaper, p, tau, 0), 2.0 / (1 + p), 1e-12);
      EXPECT_NEAR(stable_alpha_limit(ElasticOrder::kAfterStep, p, tau, 0), 2.0 / (1 + p), 1e-12);
      for (const double q : kCurvatures) {
        EXPECT_GE(stable_alpha_limit(ElasticOrder::kAfterStep, p, tau, q), 2.0 / (1 + p));
        const double paper = stable_alpha_limit(ElasticOrder::kPaper, p, tau, q);
        EXPECT_EQ(paper < 2.0 / (1 + p), tau == 1) << p << " " << tau << " " << q;
      }
    }
  }
}

TEST(EasgdStability, center_first_needs_alpha_and_beta_below_two) {
  for (const double q : kCurvatures) {
    for (const std::int64_t tau : {1, 3, 10}) {
      for (double alpha = 0.1; alpha < 2; alpha += 0.1) {
        for (double beta = 0.1; beta < 2; beta += 0.1) {
          EXPECT_LT(spectral_radius(ElasticOrder::kCenterFirst, alpha, beta, tau, q), 1) << alpha << " " << beta;
        }
      }
    }
  }
  EXPECT_GT(spectral_radius(ElasticOrder::kCenterFirst, 0.5, 2.01, 1, 1), 1);
  // If alpha exceeds 2, differences between workers grow: an exchange multiplies them by 1 - alpha.
  EXPECT_GT(1 - 2.01, -1.011);
}

// Collective. Trains the x_i on h x²/2 with real exchanges, with q = learning rate times h. They begin at 1 or -1,
// which differs from the center. Returns the largest distance from the fixed point at the end.
double growth(Transport& transport, const Given& given, double q, std::int64_t exchanges, std::int64_t tau) {
  Worker worker(transport, "easgd", given, {.size = 2});
  const auto optimizer =
      find_kind(optimizer_kinds(), "sgd")
          .make({values_of(find_kind(optimizer_kinds(), "sgd").options, {{"momentum", "0"}}), 2, cpu_device()});
  // In the first element all workers are on the same side of the center, in the second they are on opposite sides.
  start_at(worker, {1.0f, static_cast<float>(transport.rank() % 2 == 0 ? 1 : -1)});
  for (std::int64_t t = 0; t < exchanges * tau; ++t) {
    const Step step{t, 1, transport.size(), 1};
    for (std::size_t k = 0; k < 2; ++k) worker.g[k] = static_cast<float>(q) * worker.x[k];
    const auto pull = worker.communicator().before_update(step);
    optimizer->update(worker.x, worker.g, 1, pull);
    worker.communicator().after_update(step);
  }
  const std::vector<float> center = worker.consensus();
  double largest = 0;
  for (const std::vector<float>& x : gather(transport, worker.x)) {
    for (std::size_t k = 0; k < 2; ++k) {
      // On a flat loss (q = 0) x and c may meet anywhere. Otherwise both go to 0.
      const double distance = q == 0 ? std::abs(x[k] - center[k]) : std::max(std::abs(x[k]), std::abs(center[k]));
      largest = std::max(largest, static_cast<double>(distance));
    }
  }
  return largest;
}

void expect_turning_point(Transport& transport, const std::string& order, std::int64_t tau, double q, double limit) {
  const auto given = [&](double alpha) -> Given {
    return {{"order", order}, {"tau", std::to_string(tau)}, {"alpha", std::to_string(alpha)}, {"allow-unstable", "on"}};
  };
  SCOPED_TRACE(order + " tau " + std::to_string(tau) + " q " + std::to_string(q));
  EXPECT_LT(growth(transport, given(0.97 * limit), q, 400, tau), 0.1);
  EXPECT_GT(growth(transport, given(1.03 * limit), q, 400, tau), 10);
}

TEST(EasgdStability, training_converges_just_inside_and_diverges_just_outside) {
  for (const int p : {1, 2, 4}) {
    on_ranks({"threads", p}, [&](Transport& transport) {
      for (const double q : {0.0, 0.5, 0.9}) {
        expect_turning_point(transport, "paper", 1, q, (4 - 2 * q) / (2 * (1 + p) - p * q));
      }
      expect_turning_point(transport, "after-step", 1, 0, 2.0 / (1 + p));
      expect_turning_point(transport, "after-step", 1, 0.5, stable_alpha_limit(ElasticOrder::kAfterStep, p, 1, 0.5));
    });
  }
}

TEST(EasgdStability, training_obeys_the_worst_case_for_any_period) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    for (const std::string order : {"paper", "after-step"}) {
      for (const std::int64_t tau : {2, 5}) expect_turning_point(transport, order, tau, 0, 2.0 / 3);
    }
    expect_turning_point(transport, "paper", 3, 0.2, stable_alpha_limit(ElasticOrder::kPaper, 2, 3, 0.2));
  });
}

TEST(EasgdStability, default_at_one_worker_diverges_on_steep_losses_as_the_equation_says) {
  on_ranks({"threads", 1}, [](Transport& transport) {
    EXPECT_GT(growth(transport, {{"tau", "1"}}, 0.5, 400, 1), 10);
    EXPECT_LT(growth(transport, {{"tau", "1"}}, 0.3, 400, 1), 0.1);
  });
}

TEST(EasgdStability, center_first_converges_inside_and_diverges_outside) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    const auto given = [](const std::string& alpha, const std::string& beta) -> Given {
      return {{"order", "center-first"}, {"tau", "1"}, {"alpha", alpha}, {"beta", beta}, {"allow-unstable", "on"}};
    };
    EXPECT_LT(growth(transport, given("1.95", "1.9"), 0.01, 400, 1), 0.1);
    EXPECT_GT(growth(transport, given("2.05", "1"), 0.01, 400, 1), 10);
    EXPECT_LT(growth(transport, given("0.5", "1.95"), 0.99, 400, 1), 0.1);
    EXPECT_GT(growth(transport, given("0.5", "2.05"), 0.99, 400, 1), 10);
  });
}

}  // namespace
}  // namespace eave
