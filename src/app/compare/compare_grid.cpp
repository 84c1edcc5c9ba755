#include "app/compare/compare_grid.h"

#include <algorithm>
#include <cctype>

#include "app/main/launch.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "report/text/terminal.h"

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

std::vector<std::string> words_of_evaluations(const OptionValues& values) {
  if (values.given("evaluate-every") || values.given("evaluations")) return {};
  std::vector<std::string> words = {"--evaluations=10"};
  if (!values.given("evaluate-workers")) words.push_back("--evaluate-workers=off");
  return words;
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

std::vector<Cell> widen(Grid& grid, const std::vector<const std::string*>& chosen) {
  std::vector<std::string> beyond;
  for (std::size_t group = 0; group < grid.groups.size(); ++group)
    beyond.push_back(rate_beyond(grid.groups[group].rates, chosen[group]));
  std::vector<Cell> cells;
  for (std::size_t group = 0; group < grid.groups.size(); ++group) {
    if (beyond[group].empty()) continue;
    grid.groups[group].rates.push_back(beyond[group]);
    cells.push_back(grid.cell(group, beyond[group], 1));
  }
  return cells;
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
