// Plans a hierarchical sum, in two levels: first among the ranks of each host, then among one rank of each host.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace eave {

// Hosts are in the order of their lowest ranks. On each host, the first `owners()` ranks of a sum add up one share of
// the values each. Every host has the same number of owners: that of the host with the fewest ranks in the sum.
class HierarchicalSum {
 public:
  // `hosts[r]`: a number that tells rank r's host from the others.
  HierarchicalSum(std::vector<int> hosts, int rank);

  // Plans a sum among these ranks, which include this rank. Returns false if one level is enough: all ranks are on one
  // host, or each on a host of its own. If it returns true, the functions below describe this sum until the next call.
  bool arrange(std::span<const int> ranks);
  int hosts() const { return hosts_used_; }
  int owners() const { return owners_; }
  std::span<const int> within() const { return within_; }  // the ranks of this host, ascending
  // From each host, the rank at the same place within its host as this rank, in the hosts' order. Valid on owners only.
  std::span<const int> across() const { return across_; }

 private:
  int host_of(int rank) const { return host_of_[static_cast<std::size_t>(rank)]; }
  int& count_of(int host) { return count_of_[static_cast<std::size_t>(host)]; }

  const int rank_;
  std::vector<int> host_of_;   // by rank: 0, 1, 2 …
  std::vector<int> count_of_;  // by host: how many of its ranks are in this sum
  int hosts_used_ = 0, owners_ = 0;
  std::vector<int> within_, across_;
};

inline HierarchicalSum::HierarchicalSum(std::vector<int> hosts, int rank) : rank_(rank), host_of_(std::move(hosts)) {
  std::vector<int> names;  // in the order of their lowest ranks
  for (int& host : host_of_) {
    const auto known = std::ranges::find(names, host);
    const auto number = static_cast<int>(known - names.begin());
    if (known == names.end()) names.push_back(host);
    host = number;
  }
  count_of_.resize(names.size());
  within_.reserve(host_of_.size());
  across_.reserve(names.size());
}

inline bool HierarchicalSum::arrange(std::span<const int> ranks) {
  std::ranges::fill(count_of_, 0);
  for (int each : ranks) ++count_of(host_of(each));
  hosts_used_ = 0, owners_ = 0;
  for (int count : count_of_) {
    if (count == 0) continue;
    owners_ = hosts_used_ == 0 ? count : std::min(owners_, count);
    ++hosts_used_;
  }
  if (hosts_used_ == 1 || hosts_used_ == static_cast<int>(ranks.size())) return false;

  within_.clear();
  for (int each : ranks)
    if (host_of(each) == host_of(rank_)) within_.push_back(each);
  const auto place = static_cast<int>(std::ranges::find(within_, rank_) - within_.begin());
  across_.clear();
  for (std::size_t host = 0; host < count_of_.size(); ++host) {
    int left = place;  // ranks of that host to skip
    for (int each : ranks)
      if (host_of(each) == static_cast<int>(host) && left-- == 0) across_.push_back(each);
  }
  return true;
}

}  // namespace eave
