// What ranks find out together for `eave doctor`. All functions but plan_links are collective.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "app/doctor_facts.h"
#include "eave/transport.h"

namespace eave {

// Each rank writes a file into `path`, looks for that of rank 0, and removes its own; where there is no such directory
// yet, in the nearest one above it that rank 0 has.
RunDirectoryFacts probe_run_directory(Transport& transport, const std::string& path);

// How far this rank's clock is ahead of that of rank 0, give or take half the time of a request to it. Only where
// `asks`; else 0. `microseconds`: what the clock shows.
std::int64_t system_microseconds();
double measure_clock(Transport& transport, bool asks,
                     const std::function<std::int64_t()>& microseconds = system_microseconds);

// Pairs of ranks by rounds; in one round no host is in two pairs. Within each host its ranks in a row, at most 8 pairs;
// between hosts their lowest ranks, each pair of hosts, or as many as there are in 16 rounds.
using Pairs = std::vector<std::pair<int, int>>;
std::vector<Pairs> plan_links(const std::vector<std::vector<int>>& ranks_by_host);

// Of all ranks, the same on each: some tenths of a second for a round.
std::vector<LinkTime> measure_links(Transport& transport, const std::vector<Pairs>& rounds);

}  // namespace eave
