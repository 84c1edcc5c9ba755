#include "communicator/elastic/elastic_force.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/options/number_text.h"
#include "eave/check.h"

namespace eave {
namespace {

constexpr double kDefaultBeta = 0.9;  // Zhang, Choromanska, LeCun 2015
constexpr double kSameNumber = 1e-3;  // relative; people type three or four digits

std::string given(const std::string& name, double value) { return "--" + name + " " + number_text(value); }

std::optional<double> read_positive(const OptionValues& values, const std::string& name) {
  if (!values.has(name)) return std::nullopt;
  const double value = values.real(name);
  if (value > 0) return value;
  const OptionValues::Entry& entry = values.entry(name);
  throw Error(ExitCode::kUsage, given(name, value) + " (" + entry.source + "): expected a number above 0");
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

}  // namespace

std::string describe_rho(double rho, double learning_rate) {
  if (!(learning_rate > 0)) return "rho = alpha/lr not defined at the first lr, 0";
  return "rho = alpha/lr = " + number_text(rho) + " at the first lr " + number_text(learning_rate);
}

ElasticForce resolve_elastic_force(const OptionValues& values, int workers, double rate, bool beta_is_free) {
  const std::optional<double> alpha = read_positive(values, "alpha"), beta = read_positive(values, "beta"),
                              rho = read_positive(values, "rho");
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
          {"beta", OptionType::kReal, "", "p times alpha; 0.9 unless this, --alpha or --rho is given"},
          {"rho", OptionType::kReal, "", "alpha divided by the first learning rate"},
          allow_unstable_option()};
}

OptionSpec alpha_option() {
  return {"alpha", OptionType::kReal, "",
          "moving rate: x moves by alpha (x - c) per exchange; default beta/p, easgd-tree 0.9/(d+1), gossip 0.45"};
}

OptionSpec allow_unstable_option() {
  return {"allow-unstable", OptionType::kFlag, "off", "no warning when alpha is beyond the stability bound"};
}

OptionSpec overlap_option() {
  return {"overlap", OptionType::kFlag, "on", "exchange behind the following steps; off: wait at once, same numbers"};
}

}  // namespace eave
