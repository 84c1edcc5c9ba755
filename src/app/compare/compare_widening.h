// Which values of a comparison did best, and which are tried next if the best lies at an edge (--widen).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "app/compare/compare_grid.h"

namespace eave {

inline constexpr int kMostWidenings = 4;

// The index of the rate of this group that a report of its first runs chooses; -1: none of them finished.
int best_rate(const Grid& grid, std::size_t group, const std::filesystem::path& output);

// The next learning rate out, if the chosen one is the lowest or highest tried: as far from it as its neighbour is, by
// ratio. If none was chosen, because all diverged, the next lower one. "": the chosen one lies inside, or there is only
// one.
std::string rate_beyond(const std::vector<std::string>& rates, const std::string* chosen);

// The next value of a method's own option, beyond the best one.
struct OptionStep {
  std::size_t group = 0;  // whose method has the best value
  std::string option, value;
};
// For each of tuned_options() in which groups differ, as a report of the first seed's runs judges them. Leaves out
// options whose values depend on others that are given, such as tau beside pull-delay.
std::vector<OptionStep> option_steps(const Grid& grid, const std::vector<const std::string*>& chosen,
                                     const std::filesystem::path& output);
// Lines of text, for a broadcast.
std::string text_of(const std::vector<OptionStep>& steps);
std::vector<OptionStep> steps_in(const std::string& text);

// Adds the next rate out to each group that has one, and for each step a group with the next value and the rates of the
// best one's. Returns their runs with the first seed.
std::vector<Cell> widen(Grid& grid, const std::vector<const std::string*>& chosen,
                        const std::vector<OptionStep>& steps);

// Carries out a comparison by its CompareRuns or ProgramRuns: each group's rates with the first seed, what --widen
// adds, and the other seeds at the chosen rates.
template <class Runs>
void run_all(Runs& runs, Grid& grid, const OptionValues& own) {
  runs.run(grid.first_cells(), grid.count());
  for (int i = 0; i < kMostWidenings && own.flag("widen"); ++i) {
    const std::vector<const std::string*> chosen = runs.choose_rates();
    const std::vector<OptionStep> steps = own.has("part") ? std::vector<OptionStep>() : runs.choose_steps(chosen);
    const std::vector<Cell> cells = widen(grid, chosen, steps);
    if (cells.empty()) break;
    runs.run(cells, grid.count());
  }
  runs.run(grid.further_cells(runs.choose_rates()), grid.count());
}

}  // namespace eave
