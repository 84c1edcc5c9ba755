#include "app/compare/compare_grid.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "app/main/launch.h"
#include "app/run/run_settings.h"
#include "eave/check.h"
#include "report/compare/tuned_options.h"
#include "report/record/config.h"

namespace eave {
namespace {

// The name of a directory: every character except letters, digits, dots and dashes becomes a dash.
std::string name_from(const std::string& text) {
  std::string name = text;
  for (char& letter : name) {
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.') letter = '-';
  }
  return name;
}

// Whether an option needs several ranks: one rank exchanges nothing, and is not slower than another.
bool is_of_several_ranks(const std::string& name) {
  return name == "slow-rank" || (name.starts_with("shape-") && name != "shape-compute");
}

Method without(Method method, const std::string& option) {
  std::erase_if(method.options, [&](const auto& setting) { return setting.first == option; });
  std::ranges::sort(method.options);
  return method;
}

}  // namespace

bool has_setting(const Settings& settings, const std::string& name) {
  return std::ranges::find(settings, name, &Settings::value_type::first) != settings.end();
}

std::string Method::label() const {
  std::string text = communicator;
  for (const auto& [name, value] : options) text += " " + name + "=" + value;
  return text;
}

std::string RunGroup::label() const {
  return (ranks == 1 ? "one rank" : method.label() + ", " + std::to_string(ranks) + " ranks") +
         (batch.empty() ? "" : ", batch " + batch);
}

bool Grid::tunes() const {
  return std::ranges::any_of(groups, [](const RunGroup& group) { return group.rates.size() > 1; });
}

bool Grid::varies() const {
  for (const TunedOption& option : tuned_options()) {
    std::set<std::string> families;
    for (const RunGroup& group : groups) {
      if (!has_setting(group.method.options, option.name)) continue;
      RunGroup family = group;
      family.method = without(group.method, option.name);
      if (!families.insert(family.label()).second) return true;
    }
  }
  return false;
}

std::size_t Grid::count() const {
  std::size_t cells = 0;
  for (const RunGroup& group : groups) cells += group.rates.size() + static_cast<std::size_t>(seeds - 1);
  return cells;
}

Cell Grid::cell(std::size_t group, const std::string& rate, int seed) const {
  const RunGroup& of = groups[group];
  const std::string lr = rate.empty() ? "" : "-lr" + rate, b = of.batch.empty() ? "" : "-b" + of.batch;
  const std::string who = of.ranks == 1 ? "one rank" : of.method.label();
  return {group, rate, seed, name_from(who + "-p" + std::to_string(of.ranks) + b + lr + "-seed" + std::to_string(seed)),
          of.label() + (rate.empty() ? "" : ", lr " + rate) + ", seed " + std::to_string(seed)};
}

std::vector<Cell> Grid::first_cells() const {
  std::vector<Cell> cells;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::string& rate : groups[group].rates) cells.push_back(cell(group, rate, 1));
  }
  return cells;
}

// Ordered by seed, so that a comparison that ends early has compared all methods alike.
std::vector<Cell> Grid::further_cells(const std::vector<const std::string*>& chosen) const {
  std::vector<Cell> cells;
  for (int seed = 2; seed <= seeds; ++seed) {
    for (std::size_t group = 0; group < groups.size(); ++group) {
      if (chosen[group]) cells.push_back(cell(group, *chosen[group], seed));
    }
  }
  return cells;
}

void refuse_equal_runs(const std::vector<CellSettings>& cells) {
  for (auto cell = cells.begin(); cell != cells.end(); ++cell) {
    const auto is_equal = [&](const CellSettings& other) {
      return other.ranks == cell->ranks && !find_difference(other.in_force, cell->in_force, {"run-dir"});
    };
    const auto other = std::find_if(cells.begin(), cell, is_equal);
    if (other == cell) continue;
    throw Error(ExitCode::kUsage, "--communicators names " + setting_in(cell->in_force, "communicator") +
                                      " twice with the same settings: " + other->label + ", and " + cell->label +
                                      "; leave one out");
  }
}

std::vector<std::string> words_of_evaluations(const OptionValues& values) {
  if (values.given("evaluate-every") || values.given("evaluations")) return {};
  std::vector<std::string> words = {"--evaluations=10"};
  if (!values.given("evaluate-workers")) words.push_back("--evaluate-workers=off");
  return words;
}

std::vector<std::string> Grid::words_of(const Cell& cell) const {
  const RunGroup& group = groups[cell.group];
  std::vector<std::string> words;
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back("--" + name + "=" + value);
  };
  for (const auto& [name, value] : settings) {
    if (group.ranks > 1 || !is_of_several_ranks(name)) add(name, value);
    if (name == "transport" && starts_ranks(value)) add("ranks", std::to_string(group.ranks));
  }
  add("communicator", group.method.communicator);
  for (const auto& [name, value] : group.method.options) add(name, value);
  add("batch", group.batch);
  if (!cell.rate.empty()) add("lr", cell.rate);
  add("seed", std::to_string(cell.seed));
  if (!has_setting(settings, "progress")) add("progress", "off");
  return words;
}

}  // namespace eave
