#include "transport/sum/hierarchical_sum.h"

#include <algorithm>
#include <utility>

namespace eave {

HierarchicalSum::HierarchicalSum(std::vector<int> hosts, int rank) : rank_(rank), host_of_(std::move(hosts)) {
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

bool HierarchicalSum::arrange(std::span<const int> ranks) {
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
