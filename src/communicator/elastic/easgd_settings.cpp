#include "communicator/elastic/easgd_settings.h"

#include <cmath>

#include "base/options/number_text.h"
#include "communicator/elastic/elastic_force.h"
#include "communicator/support/periodic_options.h"
#include "eave/check.h"

namespace eave {
namespace {

ElasticOrder order_of(const std::string& word) {
  if (word == "after-step") return ElasticOrder::kAfterStep;
  return word == "center-first" ? ElasticOrder::kCenterFirst : ElasticOrder::kPaper;
}

double at_curvature(const EasgdSettings& settings) {
  // Solves (4 - 2q) / (2(1+p) - pq) = alpha for q = lr h.
  return 2 - 2 * settings.alpha / (2 - settings.workers * settings.alpha);
}

std::string describe_stability(const EasgdSettings& settings) {
  if (settings.order == ElasticOrder::kCenterFirst) return "stable for alpha < 2 and beta < 2";
  const double limit = stable_alpha_limit(settings.order, settings.workers, settings.tau, 0);
  std::string line = "stable for alpha < 2/(1+p) = " + number_text(limit);
  if (settings.order == ElasticOrder::kPaper && settings.tau == 1 && settings.alpha < limit) {
    line += ", and on curvature h while lr h < " + number_text(at_curvature(settings)) + " (2 for a worker alone)";
  }
  return line + ", without momentum";
}

std::string formula(ElasticOrder order) {
  switch (order) {
    case ElasticOrder::kPaper:
      return "x_i <- x_i - step_i - alpha (x_i - c);  c <- c + alpha sum_j (x_j - c);  all from the values before the "
             "step";
    case ElasticOrder::kAfterStep:
      return "x_i <- x_i - step_i;  then x_i <- x_i - alpha (x_i - c);  c <- c + alpha sum_j (x_j - c);  both from the "
             "values after the step";
    case ElasticOrder::kCenterFirst:
      return "x_i <- x_i - step_i;  then c <- c + (beta/p) sum_j (x_j - c);  then x_i <- x_i - alpha (x_i - c) with "
             "the "
             "new c";
  }
  return "";
}

const char* name_of(ElasticOrder order) {
  return order == ElasticOrder::kPaper ? "paper" : order == ElasticOrder::kAfterStep ? "after-step" : "center-first";
}

}  // namespace

std::vector<OptionSpec> easgd_options() {
  std::vector<OptionSpec> options = elastic_force_options();
  const std::vector<OptionSpec> own = {
      tau_option(),
      {"order",
       OptionType::kText,
       "paper",
       "paper: pull and step from the same values; after-step: pull after the step; center-first: the center moves "
       "first, workers follow",
       {"paper", "after-step", "center-first"}},
      overlap_option()};
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

EasgdSettings resolve_easgd(const OptionValues& values, int workers, double learning_rate) {
  EasgdSettings settings;
  settings.order = order_of(values.text("order"));
  settings.workers = workers;
  settings.learning_rate = learning_rate;
  settings.tau = tau_in(values);
  settings.allow_unstable = values.flag("allow-unstable");
  settings.overlap = values.flag("overlap");
  if (settings.order == ElasticOrder::kCenterFirst) {
    if (settings.overlap && values.given("overlap")) {
      throw Error(ExitCode::kUsage, "--overlap on (" + values.entry("overlap").source +
                                        ") has no effect with --order center-first: workers follow the new center, so "
                                        "they wait for it; use --order paper or after-step");
    }
    settings.overlap = false;
  }
  const ElasticForce force =
      resolve_elastic_force(values, workers, learning_rate, settings.order == ElasticOrder::kCenterFirst);
  settings.alpha = force.alpha;
  settings.beta = force.beta;
  settings.rho = force.rho;
  return settings;
}

double stable_alpha_limit(ElasticOrder order, int workers, std::int64_t tau, double rate_times_curvature) {
  EAVE_CHECK(order != ElasticOrder::kCenterFirst, "center-first has two limits, alpha < 2 and beta < 2");
  const double q = rate_times_curvature;
  const double r = std::pow(1 - q, static_cast<double>(tau)), s = std::pow(1 - q, static_cast<double>(tau - 1));
  return 2 * (1 + r) / (workers * (1 + r) + 2 * (order == ElasticOrder::kPaper ? s : r));
}

std::string describe_instability(const EasgdSettings& settings) {
  const std::string in_force = "alpha = " + number_text(settings.alpha) + ", beta = " + number_text(settings.beta) +
                               ", p = " + count_text(settings.workers, "worker");
  const std::string advice =
      "; expect divergence. --beta 0.9 is the usual choice; --allow-unstable silences this warning";
  if (settings.order == ElasticOrder::kCenterFirst) {
    if (settings.alpha < 2 && settings.beta < 2) return "";
    return "elastic averaging is unstable: --order center-first needs alpha < 2 and beta < 2, in force are " +
           in_force + advice;
  }
  const double limit = stable_alpha_limit(settings.order, settings.workers, settings.tau, 0);
  if (settings.alpha < limit) return "";
  const std::string tighter = settings.order == ElasticOrder::kPaper && settings.tau == 1
                                  ? " (on a loss of curvature h even less, (4 - 2 lr h) / (2(1+p) - p lr h))"
                                  : "";
  return "elastic averaging is unstable: alpha must be below 2/(1+p) = " + number_text(limit) + tighter +
         ", in force are " + in_force + advice;
}

std::string describe_equation(const EasgdSettings& settings) {
  return formula(settings.order) + "\nevery tau = " + count_text(settings.tau, "step") +
         "; alpha = " + number_text(settings.alpha) + ", beta = " + number_text(settings.beta) + ", " +
         describe_rho(settings.rho, settings.learning_rate) + ", p = " + count_text(settings.workers, "worker") +
         "; order " + name_of(settings.order) + ", overlap " + (settings.overlap ? "on" : "off") + "\n" +
         describe_stability(settings) + "; lr is not multiplied by p: each worker steps on its own batch";
}

}  // namespace eave
