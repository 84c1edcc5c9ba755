// The settings of easgd-tree: its options, the numbers that follow from them, and the bound of stability.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/elastic/rank_groups.h"
#include "eave/communicator.h"

namespace eave {

struct TreeSettings {
  RankGroups groups;
  double alpha = 0;         // moving rate between workers and their group's center
  double global_alpha = 0;  // moving rate between groups' centers and the global one
  std::int64_t tau = 1;
  std::int64_t global_tau = 1;  // a multiple of tau
  bool overlap = true;
  bool allow_unstable = false;
  int workers = 1;
  double learning_rate = 0;

  // Whether there is one group. Its center is the global one then, and the global numbers above mean nothing.
  bool is_star() const { return groups.size() == 1; }
  int largest_group() const;
};

std::vector<OptionSpec> tree_options();

// Throws Error(kUsage) if options contradict each other or have no effect. The message has a right choice.
TreeSettings resolve_tree(const CommunicatorContext& context);

// The bound of alpha below which the tree is stable; 0 if no alpha is. It holds on the quadratic h x^2 / 2 for
// rate_times_curvature q = learning rate · h in [0, 1], without momentum: at q = 0 for all periods, for q > 0 at tau =
// 1.
//
// An exchange of both levels maps workers and centers by I − L − qE. L is the Laplacian of the tree, with edges
// weighted by alpha and global_alpha, and E is 1 on workers. The matrix is symmetric, so it lets nothing grow as long
// as the largest eigenvalue of L + qE is below 2. An exchange of workers and group centers alone is the same without
// some edges, which only lowers eigenvalues.
//
// For G groups of d workers, let w = 2 − G·global_alpha and u = 2 − (1 + G) global_alpha. 2I − L − qE is positive
// definite for u > 0 and
//     alpha < 2u (2 − q) / (2u + (2 − q) w d)
// (These are its leading minors on the mean of all workers, the mean of all group centers, and the global center.)
//
// Groups smaller than the largest allow more. With global_tau = tau the bound is sharp. With a longer global_tau it is
// sufficient. Stability then still ends before easgd's bound, 2/(1+d) at q = 0. For global_alpha = 0 the bound equals
// easgd's.
double stable_tree_alpha(int group, int groups, double global_alpha, double rate_times_curvature);

// "" if the settings are stable on a flat loss (q = 0). Otherwise a warning with the bound and the numbers in force.
std::string describe_tree_instability(const TreeSettings& settings);

// Lines of ASCII for the card: the formula, its numbers, the bound of stability.
std::string describe_tree(const TreeSettings& settings);

}  // namespace eave
