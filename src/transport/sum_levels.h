// Who adds up what where hosts have several ranks: the ranks of a host first, then one rank of each host.
#pragma once

#include <span>
#include <vector>

namespace eave {

// Hosts stand in the order of their lowest ranks. Of each host the first `owners()` ranks of a sum add up a share of
// the values each: as many on every host, so the host with the fewest of them sets it.
class SumLevels {
 public:
  // `hosts[r]`: some number of rank r's host.
  SumLevels(std::vector<int> hosts, int rank);

  // For a sum among these ranks, with this one in it. False: it has one level, as all are on one host, or each on its
  // own. True: what follows tells of it until the next call.
  bool arrange(std::span<const int> ranks);
  int hosts() const { return hosts_used_; }
  int owners() const { return owners_; }
  std::span<const int> within() const { return within_; }  // this host's ranks, ascending
  // Of each host the rank at the same place of its ranks as this one, in the hosts' order. Of owners only.
  std::span<const int> across() const { return across_; }

 private:
  int host_of(int rank) const { return host_of_[static_cast<std::size_t>(rank)]; }
  int& count_of(int host) { return count_of_[static_cast<std::size_t>(host)]; }

  const int rank_;
  std::vector<int> host_of_;   // by rank: 0, 1, 2 …
  std::vector<int> count_of_;  // by host: its ranks in this sum
  int hosts_used_ = 0, owners_ = 0;
  std::vector<int> within_, across_;
};

}  // namespace eave
