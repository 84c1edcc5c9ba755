// EasgdSettings: alpha, beta, rho and tau from the options, their defaults, and what is refused.
#include "communicator/elastic/easgd_settings.h"

#include <gtest/gtest.h>

#include "eave/check.h"
#include "test/communicator/worker.h"
#include "test/expectations.h"

namespace eave {
namespace {

constexpr double kRate = 0.1;

EasgdSettings resolve(const Given& given, int workers, double rate = kRate) {
  return resolve_easgd(values_of(easgd_options(), given), workers, rate);
}

struct Derived {
  Given given;
  int workers;
  double alpha, beta, rho;
};

TEST(EasgdSettings, derive_what_is_not_given) {
  const std::vector<Derived> table = {
      {{}, 4, 0.225, 0.9, 2.25},
      {{}, 1, 0.9, 0.9, 9},
      {{{"alpha", "0.1"}}, 4, 0.1, 0.4, 1},
      {{{"beta", "0.8"}}, 4, 0.2, 0.8, 2},
      {{{"rho", "2"}}, 4, 0.2, 0.8, 2},
      {{{"alpha", "0.1"}, {"beta", "0.4"}}, 4, 0.1, 0.4, 1},
      {{{"alpha", "0.1"}, {"beta", "0.4"}, {"rho", "1"}}, 4, 0.1, 0.4, 1},
      // 7 alpha is 0.9002, which agrees with beta to the digits given.
      {{{"alpha", "0.1286"}, {"beta", "0.9"}}, 7, 0.1286, 0.9002, 1.286},
      {{{"order", "center-first"}}, 4, 0.225, 0.9, 2.25},
      {{{"order", "center-first"}, {"alpha", "1"}, {"beta", "1"}}, 4, 1, 1, 10},
      {{{"order", "center-first"}, {"beta", "1"}}, 4, 0.25, 1, 2.5},
      {{{"order", "center-first"}, {"alpha", "0.3"}}, 4, 0.3, 1.2, 3},
      {{{"order", "center-first"}, {"rho", "3"}, {"beta", "1"}}, 4, 0.3, 1, 3},
  };
  for (const Derived& row : table) {
    const EasgdSettings settings = resolve(row.given, row.workers);
    SCOPED_TRACE(describe_equation(settings));
    EXPECT_DOUBLE_EQ(settings.alpha, row.alpha);
    EXPECT_DOUBLE_EQ(settings.beta, row.beta);
    EXPECT_DOUBLE_EQ(settings.rho, row.rho);
  }
}

TEST(EasgdSettings, have_the_papers_defaults) {
  const EasgdSettings settings = resolve({}, 2);
  EXPECT_EQ(settings.order, ElasticOrder::kPaper);
  EXPECT_EQ(settings.tau, 10);
  EXPECT_TRUE(settings.overlap);
  EXPECT_FALSE(resolve({{"order", "center-first"}}, 2).overlap);
}

TEST(EasgdSettings, refuse_contradictions_with_what_would_be_right) {
  const auto expect_refused = [](const Given& given, int workers, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) expect_error(ExitCode::kUsage, part, [&] { resolve(given, workers); });
  };
  expect_refused({{"alpha", "0.5"}, {"beta", "0.9"}}, 4, {"--alpha 0.5", "--beta 0.9", "beta = 2", "alpha = 0.225"});
  expect_refused({{"rho", "5"}, {"beta", "0.9"}}, 4, {"--rho 5", "beta = 2", "alpha = 0.225"});
  expect_refused({{"alpha", "0.5"}, {"rho", "1"}}, 4, {"--alpha 0.1", "--rho 5"});
  expect_refused({{"order", "center-first"}, {"alpha", "0.5"}, {"rho", "1"}}, 4, {"--alpha 0.1"});
  expect_refused({{"order", "center-first"}, {"overlap", "on"}}, 4, {"--overlap on", "center-first"});
  expect_refused({{"alpha", "0"}}, 4, {"--alpha 0", "above 0"});
  expect_refused({{"beta", "-1"}}, 4, {"--beta -1", "above 0"});
  expect_refused({{"tau", "0"}}, 4, {"--tau 0", "at least 1"});
  expect_error(ExitCode::kUsage, "give --alpha or --beta", [] { resolve({{"rho", "1"}}, 4, 0); });
  EXPECT_NO_THROW(resolve({{"order", "center-first"}, {"overlap", "off"}}, 4));
  EXPECT_NO_THROW(resolve({}, 4, 0));
}

TEST(EasgdSettings, warn_from_the_bound_on_with_the_numbers) {
  for (const std::string order : {"paper", "after-step"}) {
    EXPECT_EQ(describe_instability(resolve({{"order", order}, {"alpha", "0.3999"}}, 4)), "");
    const std::string warning = describe_instability(resolve({{"order", order}, {"alpha", "0.5"}}, 4));
    for (const std::string part : {"2/(1+p) = 0.4", "alpha = 0.5", "beta = 2", "p = 4", "--allow-unstable"}) {
      EXPECT_TRUE(says(warning, part));
    }
    EXPECT_NE(describe_instability(resolve({{"order", order}, {"alpha", "0.4"}}, 4)), "");
  }
  EXPECT_TRUE(says(describe_instability(resolve({{"alpha", "0.5"}, {"tau", "1"}}, 4)), "lr h"));
}

TEST(EasgdSettings, warn_of_alpha_or_beta_from_two_on_in_center_first_order) {
  const auto warning = [](const std::string& alpha, const std::string& beta) {
    return describe_instability(resolve({{"order", "center-first"}, {"alpha", alpha}, {"beta", beta}}, 4));
  };
  EXPECT_EQ(warning("1", "1"), "");
  EXPECT_EQ(warning("1.99", "1.99"), "");
  EXPECT_TRUE(says(warning("2", "1"), "alpha < 2"));
  EXPECT_TRUE(says(warning("1", "2"), "beta = 2"));
}

TEST(EasgdSettings, half_is_unstable_for_more_than_three_workers) {
  EXPECT_EQ(describe_instability(resolve({{"alpha", "0.5"}}, 2)), "");
  EXPECT_NE(describe_instability(resolve({{"alpha", "0.5"}}, 3)), "");
  EXPECT_NE(describe_instability(resolve({{"alpha", "0.5"}}, 4)), "");
}

TEST(EasgdSettings, equation_prints_the_numbers_in_force) {
  const std::string equation = describe_equation(resolve({{"tau", "4"}}, 2));
  for (const std::string part : {"x_i <- x_i - step_i - alpha (x_i - c)", "tau = 4", "alpha = 0.45", "beta = 0.9",
                                 "rho = alpha/lr = 4.5", "p = 2 workers", "order paper", "overlap on", "0.666667"}) {
    EXPECT_TRUE(says(equation, part));
  }
  EXPECT_TRUE(says(describe_equation(resolve({{"order", "center-first"}}, 2)), "(beta/p) sum_j"));
  EXPECT_TRUE(says(describe_equation(resolve({{"tau", "1"}}, 1)), "lr h < 0.363636"));
}

}  // namespace
}  // namespace eave
