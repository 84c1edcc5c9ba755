// Groups of ranks, and the option that forms them.
#pragma once

#include <string>
#include <vector>

#include "eave/options.h"

namespace eave {

// Each rank of a job is in exactly one group. Ranks ascend within a group; groups are in the order of their lowest
// ranks.
using RankGroups = std::vector<std::vector<int>>;

// --groups has three forms:
// - hosts, the default: the ranks of one host form a group
// - a number N: N groups of neighbouring ranks, as equal as possible
// - a list, with commas between groups: 0-3,4-7 or 0+2+4,1+3+5-7
OptionSpec groups_option();

// `hosts` has the host of every rank; empty: all on one. Throws Error(kUsage) if a group is empty, a rank is in no
// group or in two, or a listed rank does not exist.
RankGroups resolve_groups(const OptionValues& values, int ranks, const std::vector<std::string>& hosts);

// The groups in the form that --groups takes: "0-3,4-7".
std::string describe_groups(const RankGroups& groups);

// The group that `rank` is in.
const std::vector<int>& group_of(const RankGroups& groups, int rank);

}  // namespace eave
