#include "app/compare/compare_widening.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/options/quantities.h"
#include "report/compare/comparison.h"
#include "report/compare/tuned_options.h"
#include "report/read/run_reader.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

// If one of the second is given too, a further value of the first may be refused.
bool depends_on_others(const std::string& option, const Settings& given) {
  static const std::map<std::string, std::set<std::string>> kOthers = {
      {"tau", {"pull-delay", "global-tau", "adaptive-tau"}}, {"alpha", {"beta", "rho"}}, {"rho", {"alpha", "beta"}}};
  const auto found = kOthers.find(option);
  return found != kOthers.end() &&
         std::ranges::any_of(found->second, [&](const std::string& other) { return has_setting(given, other); });
}

// Below this alpha the method is stable on a flat loss, in its usual order.
double bound_of(const RunGroup& group) { return group.method.communicator == "gossip" ? 1 : 2.0 / (1 + group.ranks); }

void set_option(Method& method, const std::string& name, const std::string& value) {
  const auto found = std::ranges::find(method.options, name, &Settings::value_type::first);
  if (found == method.options.end()) {
    method.options.emplace_back(name, value);
  } else {
    found->second = value;
  }
}

RunGroup group_of(const Grid& grid, const OptionStep& step) {
  RunGroup group = grid.groups[step.group];
  set_option(group.method, step.option, step.value);
  return group;
}

}  // namespace

int best_rate(const Grid& grid, std::size_t group, const std::filesystem::path& output) {
  const std::vector<std::string>& rates = grid.groups[group].rates;
  if (rates.size() == 1) return 0;
  std::vector<std::filesystem::path> directories;
  for (const std::string& rate : rates) directories.push_back(output / grid.cell(group, rate, 1).name);
  const Comparison compared = compare_runs(read_runs(directories), std::nullopt);
  const auto best = std::ranges::find_if(compared.variants, &Variant::chosen);
  if (best == compared.variants.end()) return -1;
  const std::filesystem::path chosen = compared.runs[best->runs.front()].name;
  return static_cast<int>(std::ranges::find(directories, chosen) - directories.begin());
}

std::string rate_beyond(const std::vector<std::string>& rates, const std::string* chosen) {
  if (rates.size() < 2) return "";
  const auto number = [](const std::string& rate) { return read_real(rate).value.value_or(0); };
  std::vector<double> tried;
  for (const std::string& rate : rates) tried.push_back(number(rate));
  std::ranges::sort(tried);
  if (!(tried.front() > 0)) return "";
  const double lowest = tried[0] * (tried[0] / tried[1]);
  if (!chosen || number(*chosen) == tried.front()) return format("%.3g", lowest);
  const double last = tried.back(), highest = last * (last / tried[tried.size() - 2]);
  return number(*chosen) == last ? format("%.3g", highest) : "";
}

std::vector<OptionStep> option_steps(const Grid& grid, const std::vector<const std::string*>& chosen,
                                     const std::filesystem::path& output) {
  std::vector<std::filesystem::path> directories;
  std::map<std::filesystem::path, std::size_t> group_of_run;
  for (std::size_t group = 0; group < grid.groups.size(); ++group) {
    if (!chosen[group] || grid.groups[group].ranks == 1) continue;
    directories.push_back(output / grid.cell(group, *chosen[group], 1).name);
    group_of_run[directories.back()] = group;
  }
  std::vector<OptionStep> steps;
  if (directories.empty()) return steps;
  const Comparison compared = compare_runs(read_runs(directories), std::nullopt);
  for (const Variant& variant : compared.variants) {
    for (const TunedEdge& edge : variant.option_edges) {
      const auto found = group_of_run.find(compared.runs[variant.runs.front()].name);
      if (found == group_of_run.end()) continue;
      const RunGroup& group = grid.groups[found->second];
      Settings given = group.method.options;
      given.insert(given.end(), grid.settings.begin(), grid.settings.end());
      const auto option = std::ranges::find(tuned_options(), edge.option, &TunedOption::name);
      const std::string value = value_beyond(*option, edge.tried, edge.value, bound_of(group));
      if (!value.empty() && !depends_on_others(edge.option, given))
        steps.push_back({found->second, edge.option, value});
    }
  }
  return steps;
}

std::string text_of(const std::vector<OptionStep>& steps) {
  std::string text;
  for (const OptionStep& step : steps) text += std::to_string(step.group) + " " + step.option + " " + step.value + "\n";
  return text;
}

std::vector<OptionStep> steps_in(const std::string& text) {
  std::vector<OptionStep> steps;
  std::istringstream words(text);
  for (OptionStep step; words >> step.group >> step.option >> step.value;) steps.push_back(step);
  return steps;
}

std::vector<Cell> widen(Grid& grid, const std::vector<const std::string*>& chosen,
                        const std::vector<OptionStep>& steps) {
  std::vector<std::string> beyond;
  for (std::size_t group = 0; group < grid.groups.size(); ++group)
    beyond.push_back(rate_beyond(grid.groups[group].rates, chosen[group]));
  std::vector<RunGroup> further;
  for (const OptionStep& step : steps) further.push_back(group_of(grid, step));
  std::vector<Cell> cells;
  for (std::size_t group = 0; group < beyond.size(); ++group) {
    if (beyond[group].empty()) continue;
    grid.groups[group].rates.push_back(beyond[group]);
    cells.push_back(grid.cell(group, beyond[group], 1));
  }
  for (const RunGroup& group : further) {
    if (std::ranges::find(grid.groups, group.label(), &RunGroup::label) != grid.groups.end()) continue;
    grid.groups.push_back(group);
    for (const std::string& rate : group.rates) cells.push_back(grid.cell(grid.groups.size() - 1, rate, 1));
  }
  return cells;
}

}  // namespace eave
