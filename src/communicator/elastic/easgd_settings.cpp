#include "communicator/elastic/easgd_settings.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/options/number_text.h"
#include "communicator/support/local_steps.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr double kDefaultBeta = 0.9;  // Zhang, Choromanska, LeCun 2015
constexpr double kSameNumber = 1e-3;  // relative; people type three or four digits

std::string given(const std::string& name, double value) { return "--" + name + " " + number_text(value); }

std::optional<double> positive_if_given(const OptionValues& values, const std::string& name) {
  return values.has(name) ? std::optional(positive_real_in(values, name)) : std::nullopt;
}

bool agree(double a, double b) { return std::abs(a - b) <= kSameNumber * std::max(std::abs(a), std::abs(b)); }

void require_agreement_with_rho(double alpha, double rho, double rate) {
  if (agree(alpha, rho * rate)) return;
  throw Error(ExitCode::kUsage, given("alpha", alpha) + " and " + given("rho", rho) +
                                    " contradict each other: alpha = rho lr, and the first " + "learning rate is " +
                                    number_text(rate) + "; give one of them, or " + given("alpha", rho * rate) +
                                    " or " + given("rho", alpha / rate));
}

void require_agreement_with_beta(const std::string& other, double alpha, double beta, int workers) {
  if (agree(beta, workers * alpha)) return;
  throw Error(ExitCode::kUsage,
              other + " and " + given("beta", beta) +
                  " contradict each other: beta = p alpha, and with p = " + count_text(workers, "worker") +
                  " alpha = " + number_text(alpha) + " makes beta = " + number_text(workers * alpha) +
                  ", beta = " + number_text(beta) + " makes alpha = " + number_text(beta / workers) +
                  "; give one of them (--communicator easgd --order center-first takes both)");
}

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

std::string describe_rho(double rho, double learning_rate) {
  if (!(learning_rate > 0)) return "rho = alpha/lr not defined at the first lr, 0";
  return "rho = alpha/lr = " + number_text(rho) + " at the first lr " + number_text(learning_rate);
}

ElasticForce resolve_elastic_force(const OptionValues& values, int workers, double rate, bool beta_is_free) {
  const std::optional<double> alpha = positive_if_given(values, "alpha"), beta = positive_if_given(values, "beta"),
                              rho = positive_if_given(values, "rho");
  if (rho && !(rate > 0)) {
    throw Error(ExitCode::kUsage, given("rho", *rho) +
                                      " needs a learning rate above 0 at the first step, since alpha = " +
                                      "rho lr; give --alpha or --beta instead");
  }
  if (alpha && rho) require_agreement_with_rho(*alpha, *rho, rate);
  ElasticForce force;
  force.alpha = alpha ? *alpha : rho ? *rho * rate : beta.value_or(kDefaultBeta) / workers;
  force.beta = workers * force.alpha;
  force.rho = force.alpha / rate;
  if (!beta) return force;
  if (beta_is_free) {
    force.beta = *beta;
  } else {
    require_agreement_with_beta(alpha ? given("alpha", *alpha)
                                : rho ? given("rho", *rho)
                                      : "",
                                force.alpha, *beta, workers);
  }
  return force;
}

std::vector<OptionSpec> elastic_force_options() {
  return {alpha_option(),
          {"beta", OptionType::kReal, "",
           "p times alpha, with p workers (default: 0.9 if neither --alpha nor --rho is given)"},
          {"rho", OptionType::kReal, "", "alpha divided by the first learning rate"},
          allow_unstable_option()};
}

OptionSpec alpha_option() {
  return {"alpha", OptionType::kReal, "",
          "moving rate: an exchange moves worker x towards center c by alpha (x - c) (default: beta/p; easgd-tree: "
          "0.9/(ranks of a group + 1); gossip: 0.45)"};
}

OptionSpec allow_unstable_option() {
  return {"allow-unstable", OptionType::kFlag, "off", "do not warn if alpha is beyond the stability bound"};
}

OptionSpec overlap_option() {
  return {"overlap", OptionType::kFlag, "on",
          "exchange during the following steps; off: wait for each exchange, with the same results"};
}

std::vector<OptionSpec> easgd_options() {
  std::vector<OptionSpec> options = elastic_force_options();
  const std::vector<OptionSpec> own = {tau_option(),
                                       {"order",
                                        OptionType::kText,
                                        "paper",
                                        "paper: pull and step start from the same values; after-step: pull after the "
                                        "step; center-first: move the center first, then the workers",
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
      refuse_option(values, "overlap",
                    "has no effect with --order center-first: workers follow the new center, so they wait for it; use "
                    "--order paper or after-step");
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
                                  ? " (on a loss with curvature h the bound is lower: (4 - 2 lr h) / (2(1+p) - p lr h))"
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
