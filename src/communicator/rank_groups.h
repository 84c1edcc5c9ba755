// Which ranks belong together.
#pragma once

#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// Every rank of a job in one group. Ascending within a group; groups by their lowest rank.
using RankGroups = std::vector<std::vector<int>>;

// --groups: `hosts`, the default, the ranks of one host; a number N, so many groups of neighbouring ranks, equal as far
// as they can be; or a list, groups parted by commas: 0-3,4-7 or 0+2+4,1+3+5-7.
OptionSpec groups_option();

// `hosts`: of every rank; empty: all on one. Throws Error(kUsage) where a group is empty, a rank in none or in two, or
// there is no such rank.
RankGroups resolve_groups(const OptionValues& values, int ranks, const std::vector<std::string>& hosts);

// As --groups takes it: "0-3,4-7".
std::string describe_groups(const RankGroups& groups);

// The group that `rank` is in.
const std::vector<int>& group_of(const RankGroups& groups, int rank);

}  // namespace eave
