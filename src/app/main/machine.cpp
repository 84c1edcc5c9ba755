#include "app/main/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "base/options/number_text.h"
#include "eave/dataset.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

std::string describe_limits(const GroupLimits& limits) {
  std::string text;
  if (limits.cores >= 0) text += format("%.3g core%s", limits.cores, limits.cores == 1 ? "" : "s");
  if (limits.memory_bytes >= 0) {
    text += (text.empty() ? "" : " and ") +
            format("%.0f MiB of memory", std::ceil(static_cast<double>(limits.memory_bytes) / 0x1p20));
  }
  return text.empty() ? "" : "   its control group allows " + text;
}

// The load of one host. All ranks of a host are taken to share one control group; if Slurm gives each rank its own, the
// ranks' limits do not tell.
struct HostLoad {
  int ranks = 0;
  std::set<int> cores;
  double quota = -1;
};

std::string describe_load(const std::string& host, const HostLoad& load, int threads_per_rank) {
  const auto cores = static_cast<double>(load.cores.size());
  const bool has_quota = load.quota >= 0 && load.quota < cores;
  const double allowed = has_quota ? load.quota : cores;
  if (load.cores.empty() || load.ranks * threads_per_rank <= allowed) return "";
  const std::string cause = openmp_binding();
  return "host " + host + ": " + count_text(load.ranks, "rank") + " with " + count_text(threads_per_rank, "thread") +
         (load.ranks == 1 ? " has " : " each share ") + format("%.3g core%s", allowed, allowed == 1 ? "" : "s") +
         (has_quota ? " that its control group allows" : "") + "; times are not those of separate cores" +
         (has_quota || cause.empty() ? "" : "; " + cause);
}

std::string pack(const RankFacts& facts) {
  std::string text = facts.host + "\n" + facts.device + "\n" + facts.cores + "\n" + (facts.trains ? "1" : "0") + "\n";
  text += std::to_string(facts.limits.memory_bytes) + " " + std::to_string(facts.limits.cores) + "\n";
  for (std::int64_t count : facts.class_histogram) text += std::to_string(count) + " ";
  return text;
}

RankFacts unpack_rank(const std::string& text) {
  RankFacts facts;
  std::istringstream lines(text);
  std::getline(lines, facts.host);
  std::getline(lines, facts.device);
  std::getline(lines, facts.cores);
  lines >> facts.trains >> facts.limits.memory_bytes >> facts.limits.cores;
  for (std::int64_t count = 0; lines >> count;) facts.class_histogram.push_back(count);
  return facts;
}

}  // namespace

std::string openmp_binding() {
  for (const char* name : {"OMP_PROC_BIND", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == 0) continue;
    std::string lower(value);
    std::ranges::transform(lower, lower.begin(), [](unsigned char letter) { return std::tolower(letter); });
    if (lower == "false" || lower == "none" || lower == "disabled") continue;
    return std::string(name) +
           " in the environment binds every rank to the first of its cores: unset it, and let mpirun "
           "bind ranks (--bind-to core)";
  }
  return "";
}

int core_count(const std::string& cores) { return static_cast<int>(cores_in(cores).size()); }

GroupLimits limiting_group() {
  GroupLimits limits = control_group_limits();
  if (limits.memory_bytes / ::sysconf(_SC_PAGESIZE) >= ::sysconf(_SC_PHYS_PAGES)) limits.memory_bytes = -1;
  if (limits.cores >= static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN))) limits.cores = -1;
  return limits;
}

std::string rank_table(const std::vector<RankFacts>& ranks) {
  std::string table = "rank   host                      device   cores\n";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    table += format("%4zu   %-24s  %-6s   %s%s%s\n", rank, ranks[rank].host.c_str(), ranks[rank].device.c_str(),
                    ranks[rank].cores.c_str(), ranks[rank].trains ? "" : "   keeps the center, does not train",
                    describe_limits(ranks[rank].limits).c_str());
  }
  return table;
}

std::string describe_oversubscription(const std::vector<RankFacts>& ranks, int threads_per_rank) {
  std::map<std::string, HostLoad> hosts;
  for (const RankFacts& rank : ranks) {
    HostLoad& load = hosts[rank.host];
    ++load.ranks;
    load.cores.merge(cores_in(rank.cores));
    load.quota = std::max(load.quota, rank.limits.cores);
  }
  std::string text;
  for (const auto& [host, load] : hosts) {
    const std::string sentence = describe_load(host, load, threads_per_rank);
    if (!sentence.empty()) text += (text.empty() ? "" : "; ") + sentence;
  }
  return text;
}

std::vector<RankFacts> gather_facts(Transport& transport, const RankFacts& mine) {
  std::vector<RankFacts> ranks;
  for (const std::string& text : transport.gather(pack(mine))) ranks.push_back(unpack_rank(text));
  return ranks;
}

std::vector<std::string> describe_ranks(const std::vector<RankFacts>& ranks, int threads) {
  std::vector<std::string> warnings;
  const std::string oversubscription = describe_oversubscription(ranks, threads);
  if (!oversubscription.empty()) warnings.push_back(oversubscription);
  std::vector<std::int64_t> all(ranks.front().class_histogram.size());
  for (const RankFacts& rank : ranks) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += rank.class_histogram[i];
  }
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string imbalance = describe_imbalance(ranks[rank].class_histogram, all, static_cast<int>(rank));
    if (!imbalance.empty()) warnings.push_back(imbalance);
  }
  return warnings;
}

}  // namespace eave
