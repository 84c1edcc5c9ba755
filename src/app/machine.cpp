#include "app/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <map>
#include <set>
#include <sstream>

#include "report/terminal.h"

namespace eave {
namespace {

std::set<int> parse_cores(const std::string& text) {
  std::set<int> cores;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (read < 1) continue;
    for (int core = first; core <= (read == 2 ? last : first); ++core) cores.insert(core);
  }
  return cores;
}

}  // namespace

std::string core_binding() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return "?";
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &set)) continue;
    int last = core;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(core) + (last > core ? "-" + std::to_string(last) : "");
    core = last;
  }
  return text;
}

int core_count(const std::string& cores) { return static_cast<int>(parse_cores(cores).size()); }

std::int64_t peak_memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::string rank_table(const std::vector<RankFacts>& ranks) {
  std::string table = "rank   host                      device   cores\n";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    table += format("%4zu   %-24s  %-6s   %s%s\n", rank, ranks[rank].host.c_str(), ranks[rank].device.c_str(),
                    ranks[rank].cores.c_str(), ranks[rank].trains ? "" : "   keeps the center, does not train");
  }
  return table;
}

std::string describe_oversubscription(const std::vector<RankFacts>& ranks, int threads_per_rank) {
  std::map<std::string, std::pair<int, std::set<int>>> hosts;
  for (const RankFacts& rank : ranks) {
    auto& [count, cores] = hosts[rank.host];
    ++count;
    cores.merge(parse_cores(rank.cores));
  }
  std::string text;
  for (const auto& [host, load] : hosts) {
    const auto& [count, cores] = load;
    if (cores.empty() || count * threads_per_rank <= static_cast<int>(cores.size())) continue;
    text += text.empty() ? "" : "; ";
    text += format("host %s: %d ranks with %d thread(s) each share %zu core(s); times are not those of separate cores",
                   host.c_str(), count, threads_per_rank, cores.size());
  }
  return text;
}

}  // namespace eave
