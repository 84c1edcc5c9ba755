// The numbers of easgd-tree: options, what follows from them, and whether they are stable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/rank_groups.h"
#include "eave/communicator.h"

namespace eave {

struct TreeSettings {
  RankGroups groups;
  double alpha = 0;         // workers and their group's center
  double global_alpha = 0;  // group centers and the global one
  std::int64_t tau = 1;
  std::int64_t global_tau = 1;  // a multiple of tau
  bool overlap = true;
  bool allow_unstable = false;
  int workers = 1;
  double learning_rate = 0;

  // One group: its center is the global one, and the global numbers above mean nothing.
  bool is_star() const { return groups.size() == 1; }
  int largest_group() const;
};

std::vector<OptionSpec> tree_options();

// Throws Error(kUsage), with what would be right, for options that contradict each other or have no effect.
TreeSettings resolve_tree(const CommunicatorContext& context);

// The alpha below which the tree is stable on the quadratic h x^2 / 2 for rate_times_curvature q = learning rate · h in
// [0, 1], without momentum. At q = 0 whatever the periods; for q > 0 at tau = 1. 0 where no alpha is.
//
// An exchange of both levels maps workers and centers by I − L − qE, with L the Laplacian of the tree, its edges
// weighted by alpha and global_alpha, and E = 1 on workers. It is symmetric, so it takes nothing apart as long as the
// largest eigenvalue of L + qE is below 2; and an exchange of workers and group centers alone is the same with edges
// taken away, which only lowers eigenvalues. For G groups of d workers, w = 2 − G·global_alpha and u = 2 − (1 + G)
// global_alpha, 2I − L − qE is positive definite for u > 0 and
//     alpha < 2u (2 − q) / (2u + (2 − q) w d).
// (Its leading minors on the mean of all workers, of all group centers, and the global center.) Smaller groups beside
// the largest allow more. With global_tau = tau the bound is sharp. With a longer global_tau it is assured, and what is
// stable ends before easgd's bound, 2/(1+d) at q = 0, to which it comes down for global_alpha = 0.
double stable_tree_alpha(int group, int groups, double global_alpha, double rate_times_curvature);

// "" when the settings are stable on every nearly flat loss; otherwise a warning with the bound and what is in force.
std::string describe_tree_instability(const TreeSettings& settings);

// Lines of ASCII: the formula, its numbers, the stability bound.
std::string describe_tree(const TreeSettings& settings);

}  // namespace eave
