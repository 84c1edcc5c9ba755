#include "communicator/elastic/easgd_tree_settings.h"

#include <algorithm>

#include "base/options/number_text.h"
#include "communicator/elastic/easgd_settings.h"
#include "communicator/support/local_steps.h"

namespace eave {
namespace {

constexpr double kDefaultForce = 0.9;       // alpha is this times 1/(d+1): Zhang 2016
constexpr std::int64_t kDefaultRatio = 10;  // global_tau / tau: Zhang 2016

void refuse_global_options(const OptionValues& values) {
  for (const std::string name : {"global-tau", "global-alpha"}) {
    if (!values.given(name)) continue;
    refuse_option(values, name,
                  std::string("has no effect with one group, whose center is the global one") +
                      (values.text("groups") == "hosts" ? " (all ranks are on one host)" : "") +
                      "; give --groups 2 or more, or leave it out");
  }
}

std::int64_t global_tau_in(const OptionValues& values, std::int64_t tau) {
  if (!values.has("global-tau")) return kDefaultRatio * tau;
  const std::int64_t global = values.integer("global-tau", 1);
  if (global >= tau && global % tau == 0) return global;
  const std::string below = std::to_string(std::max<std::int64_t>(1, global / tau) * tau);
  refuse_option(values, "global-tau",
                "expected a multiple of --tau " + std::to_string(tau) +
                    ", for group centers meet the global one when they meet their workers; " + below +
                    " would be right");
}

// The lr h up to which alpha is within the bound, at tau = 1.
double steepest(const TreeSettings& settings) {
  const double b = settings.is_star() ? 0 : settings.global_alpha;
  const double groups = static_cast<double>(settings.groups.size());
  const double u = 2 - b * (1 + groups), w = 2 - b * groups;
  return 2 - 2 * u * settings.alpha / (2 * u - settings.alpha * w * settings.largest_group());
}

double limit_of(const TreeSettings& settings) {
  return stable_tree_alpha(settings.largest_group(), static_cast<int>(settings.groups.size()),
                           settings.is_star() ? 0 : settings.global_alpha, 0);
}

double star_limit_of(const TreeSettings& settings) { return 2.0 / (1 + settings.largest_group()); }

double global_limit_of(const TreeSettings& settings) { return 2.0 / (1 + static_cast<double>(settings.groups.size())); }

std::string describe_stability(const TreeSettings& settings) {
  const double limit = limit_of(settings);
  std::string line = "stable for alpha < ";
  if (settings.is_star()) {
    line += "2/(1+d) = " + number_text(limit);
  } else {
    line += "2u / (u + (u + global-alpha) d)" + (limit > 0 ? " = " + number_text(limit) : std::string()) +
            " with u = 2 - (1+G) global-alpha above 0";
  }
  if (settings.tau == 1 && settings.alpha < limit) {
    line += ", and on curvature h while lr h < " + number_text(steepest(settings));
  }
  line += settings.is_star() ? "" : "; unstable from alpha = 2/(1+d) = " + number_text(star_limit_of(settings)) + " on";
  return line + "; without momentum";
}

std::string formula(const TreeSettings& settings) {
  if (settings.is_star()) {
    return "x_i <- x_i - step_i - alpha (x_i - c);  c <- c + alpha sum_j (x_j - c);  all from the values before the "
           "step\none group: its center is the global one, and this is --communicator easgd --alpha " +
           number_text(settings.alpha) + " --tau " + std::to_string(settings.tau);
  }
  return "x_i <- x_i - step_i - alpha (x_i - c_g);  c_g <- c_g + alpha sum_(j in g) (x_j - c_g)  every tau steps;\n"
         "c_g <- c_g - global-alpha (c_g - c);  c <- c + global-alpha sum_g (c_g - c)  every global-tau steps;  all "
         "from the values before the step";
}

std::string describe_elastic_resumption(const TreeSettings& settings) {
  if (settings.is_star()) return "";
  return "with another number of ranks (--resume elastic) c stays, and c_g is the mean of the centers that its workers "
         "had; if all are new, c\n";
}

std::string numbers(const TreeSettings& settings) {
  const int d = settings.largest_group();
  std::string text = "tau = " + std::to_string(settings.tau) + ", alpha = " + number_text(settings.alpha) +
                     ", d = " + count_text(d, "worker") +
                     " in the largest group, beta = d alpha = " + number_text(d * settings.alpha);
  text += ", " + describe_rho(settings.alpha / settings.learning_rate, settings.learning_rate);
  const auto groups = static_cast<double>(settings.groups.size());
  if (!settings.is_star()) {
    text += "\nglobal-tau = " + std::to_string(settings.global_tau) +
            ", global-alpha = " + number_text(settings.global_alpha) +
            ", G global-alpha = " + number_text(groups * settings.global_alpha);
  }
  return text + "\np = " + count_text(settings.workers, "worker") + " in G = " + number_text(groups) +
         (settings.is_star() ? " group; " : " groups, " + describe_groups(settings.groups) + "; ") +
         "order paper, overlap " + (settings.overlap ? "on" : "off");
}

}  // namespace

int TreeSettings::largest_group() const {
  std::size_t largest = 0;
  for (const std::vector<int>& group : groups) largest = std::max(largest, group.size());
  return static_cast<int>(largest);
}

std::vector<OptionSpec> tree_options() {
  return {groups_option(),
          tau_option(),
          {"global-tau", OptionType::kInteger, "",
           "steps between exchanges of the groups' centers with the global one, a multiple of --tau (default: 10 times "
           "--tau)"},
          alpha_option(),
          {"global-alpha", OptionType::kReal, "",
           "moving rate between the groups' centers and the global one (default: 0.9/(groups + 1))"},
          allow_unstable_option(),
          overlap_option()};
}

TreeSettings resolve_tree(const CommunicatorContext& context) {
  const OptionValues& values = context.values;
  TreeSettings settings;
  settings.workers = context.transport.size();
  settings.groups = resolve_groups(values, settings.workers, context.hosts);
  settings.learning_rate = context.learning_rate;
  settings.tau = values.integer("tau", 1);
  settings.overlap = values.flag("overlap");
  settings.allow_unstable = values.flag("allow-unstable");
  settings.alpha =
      values.has("alpha") ? positive_real_in(values, "alpha") : kDefaultForce / (settings.largest_group() + 1);
  if (settings.is_star()) {
    refuse_global_options(values);
    return settings;
  }
  settings.global_tau = global_tau_in(values, settings.tau);
  settings.global_alpha = values.has("global-alpha") ? positive_real_in(values, "global-alpha")
                                                     : kDefaultForce / static_cast<double>(settings.groups.size() + 1);
  return settings;
}

double stable_tree_alpha(int group, int groups, double global_alpha, double rate_times_curvature) {
  const double u = 2 - (1 + groups) * global_alpha, w = 2 - groups * global_alpha, left = 2 - rate_times_curvature;
  return u > 0 ? 2 * u * left / (2 * u + left * w * group) : 0;
}

std::string describe_tree_instability(const TreeSettings& settings) {
  const double limit = limit_of(settings);
  if (settings.alpha < limit) return "";
  const double star = star_limit_of(settings);
  const bool is_certain = settings.is_star() || settings.global_tau == settings.tau || settings.alpha >= star;
  std::string text = std::string("elastic averaging ") + (is_certain ? "is" : "may be") + " unstable: ";
  if (limit == 0) {
    text += "global-alpha = " + number_text(settings.global_alpha) +
            " must be below 2/(1+G) = " + number_text(global_limit_of(settings)) +
            " with G = " + count_text(settings.groups.size(), "group");
  } else {
    text += "alpha = " + number_text(settings.alpha) + " must be below " + number_text(limit) +
            " with d = " + count_text(settings.largest_group(), "worker") + " in the largest group" +
            (settings.is_star() ? "" : " and global-alpha = " + number_text(settings.global_alpha));
  }
  if (!is_certain) text += ", which is sharp for --global-tau as short as --tau";
  return text + "; the defaults are stable, --allow-unstable silences this warning";
}

std::string describe_tree(const TreeSettings& settings) {
  return formula(settings) + "\n" + numbers(settings) + "\n" + describe_stability(settings) + "\n" +
         describe_elastic_resumption(settings) + kLocalRate;
}

}  // namespace eave
