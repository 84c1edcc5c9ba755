// Judges the network within and between hosts.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "app/doctor/doctor_findings.h"
#include "base/options/number_text.h"
#include "base/options/quantities.h"
#include "base/options/spelling.h"
#include "report/text/terminal.h"

namespace eave {
namespace {

struct Network {
  std::uint32_t address = 0, mask = 0;  // in host byte order
  bool holds(std::uint32_t other) const { return (other & mask) == (address & mask); }
};

// Parses "10.0.0.7/24".
std::optional<Network> read_network(const std::string& text) {
  const std::size_t slash = text.find('/');
  in_addr address{};
  if (slash == std::string::npos || ::inet_pton(AF_INET, text.substr(0, slash).c_str(), &address) != 1) return {};
  const int bits = std::atoi(text.c_str() + slash + 1);
  if (bits < 0 || bits > 32) return {};
  return Network{ntohl(address.s_addr), bits == 0 ? 0 : ~std::uint32_t{0} << (32 - bits)};
}

// The network of an interface: "10.0.0.0/24".
std::string network_of(const NetworkInterface& interface) {
  const std::optional<Network> network = read_network(interface.address);
  if (!network) return interface.address;
  in_addr address{htonl(network->address & network->mask)};
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address, text.data(), text.size());
  return text.data() + interface.address.substr(interface.address.find('/'));
}

// Whether a word of btl_tcp_if_include, a name or a network, means this interface.
bool is_meant(const NetworkInterface& interface, const std::string& word) {
  if (word == interface.name) return true;
  const std::optional<Network> network = read_network(word), own = read_network(interface.address);
  return network && own && network->holds(own->address);
}

bool is_meant_by_any(const NetworkInterface& interface, const std::string& words) {
  std::istringstream each(words);
  for (std::string word; std::getline(each, word, ',');) {
    if (is_meant(interface, word)) return true;
  }
  return false;
}

std::string setting(const DoctorFacts& rank, const std::string& name) {
  for (const std::string& text : rank.network_settings) {
    if (text.starts_with(name + "=")) return text.substr(name.size() + 1);
  }
  return "";
}

// The interfaces that Open MPI's TCP transport may use.
std::vector<NetworkInterface> usable(const DoctorFacts& rank) {
  const std::string included = setting(rank, "btl_tcp_if_include"), excluded = setting(rank, "btl_tcp_if_exclude");
  std::vector<NetworkInterface> result;
  for (const NetworkInterface& each : rank.interfaces) {
    if (!included.empty() ? is_meant_by_any(each, included) : !is_meant_by_any(each, excluded)) result.push_back(each);
  }
  return result;
}

// Whether it is a bridge of containers or virtual machines, which reaches this host only.
bool stays_on_host(const NetworkInterface& interface) {
  for (const char* prefix : {"docker", "virbr", "br-", "veth", "podman", "cni", "lxcbr", "lxdbr"}) {
    if (interface.name.starts_with(prefix)) return true;
  }
  return false;
}

std::string listed(const std::vector<NetworkInterface>& interfaces) {
  std::string text;
  for (const NetworkInterface& each : interfaces) {
    text += (text.empty() ? "" : ", ") + each.name + " " + each.address;
    if (each.megabits_per_s > 0) text += format(" (%lld Mbit/s)", static_cast<long long>(each.megabits_per_s));
  }
  return text.empty() ? "none" : text;
}

// Networks in which every host has an interface. Networks of bridges come last.
std::vector<std::string> common_networks(const std::vector<HostFacts>& hosts) {
  std::vector<std::string> common, of_bridges;
  for (const NetworkInterface& each : usable(*hosts.front().facts)) {
    const std::string network = network_of(each);
    const auto has_it = [&](const HostFacts& host) {
      const std::vector<NetworkInterface> own = usable(*host.facts);
      return std::ranges::any_of(own, [&](const NetworkInterface& other) { return network_of(other) == network; });
    };
    if (std::ranges::all_of(hosts, has_it)) (stays_on_host(each) ? of_bridges : common).push_back(network);
  }
  common.insert(common.end(), of_bridges.begin(), of_bridges.end());
  return common;
}

Finding judge_open_mpi(const std::vector<HostFacts>& hosts) {
  const std::string topic = "network";
  std::string all;
  bool is_clear = true;
  for (const HostFacts& host : hosts) {
    const std::vector<NetworkInterface> own = usable(*host.facts);
    if (own.empty()) {
      return {Severity::kProblem, topic,
              "host " + host.facts->host +
                  " has no interface to the other hosts that the settings of Open MPI allow; it has " +
                  listed(host.facts->interfaces) + "; mend btl_tcp_if_include or btl_tcp_if_exclude",
              ExitCode::kConfiguration};
    }
    is_clear = is_clear && own.size() == 1;
    if (&host - hosts.data() < 4) all += (all.empty() ? "" : "; ") + host.facts->host + ": " + listed(own);
  }
  if (hosts.size() > 4) all += "; and " + count_text(std::ssize(hosts) - 4, "other host");
  const std::vector<std::string> common = common_networks(hosts);
  if (common.empty())
    return {Severity::kNote, topic, "the hosts have no network in common, so all depends on routes: " + all};
  if (is_clear) return {Severity::kOk, topic, "hosts meet over " + common.front() + " (" + all + ")"};
  return {Severity::kNote, topic,
          "Open MPI may use each of several interfaces, also one that leads nowhere: " + all +
              "; name the right network, such as mpirun --mca btl_tcp_if_include " + common.front()};
}

struct Links {
  std::string where;
  std::vector<LinkTime> times;
};

double middle(const std::vector<LinkTime>& links, double LinkTime::*field) {
  std::vector<double> values;
  for (const LinkTime& link : links) values.push_back(link.*field);
  return median_of(std::move(values));
}

std::string name_pair(const JobFacts& job, const LinkTime& link) {
  const std::string first = job.ranks[static_cast<std::size_t>(link.first)].host,
                    second = job.ranks[static_cast<std::size_t>(link.second)].host;
  return format("ranks %d and %d on ", link.first, link.second) + (first == second ? first : first + " and " + second);
}

std::string rate_text(double bytes_per_second) {
  return decimal_text(bytes_per_second * 1e-6, bytes_per_second < 1e7 ? 1 : 0) + " MB/s";
}

constexpr double kSlow = 2;  // times slower than usual
constexpr const char* kAllWait = ": all ranks wait for it in synchronous methods; look at its link";

// Names a host whose best link is much slower than the best links of the other hosts, as with a slow card, cable or
// port. "" if there is none.
std::string describe_slow_host(const JobFacts& job, const std::vector<LinkTime>& links) {
  std::map<std::string, double> best;  // best rate by host
  for (const LinkTime& link : links) {
    for (const int rank : {link.first, link.second}) {
      double& rate = best[job.ranks[static_cast<std::size_t>(rank)].host];
      rate = std::max(rate, link.bytes_per_second);
    }
  }
  if (best.size() < 3) return "";
  std::vector<double> rates;
  for (const auto& [unused, rate] : best) rates.push_back(rate);
  const double usual = median_of(rates);
  for (const auto& [host, rate] : best) {
    if (rate * kSlow > usual) continue;
    return "at most " + rate_text(rate) + " go between host " + host + " and any other, and " + rate_text(usual) +
           " between others" + kAllWait;
  }
  return "";
}

std::string describe_slow_pair(const JobFacts& job, const std::vector<LinkTime>& links) {
  const LinkTime& narrowest = *std::ranges::min_element(links, {}, &LinkTime::bytes_per_second);
  const double rate = middle(links, &LinkTime::bytes_per_second);
  if (links.size() < 3 || narrowest.bytes_per_second * kSlow > rate) return "";
  return rate_text(narrowest.bytes_per_second) + " go between " + name_pair(job, narrowest) + ", and " +
         rate_text(rate) + " between others" + kAllWait;
}

void judge(const JobFacts& job, const Links& links, std::vector<Finding>& findings) {
  if (links.times.empty()) return;
  const LinkTime& slowest = *std::ranges::max_element(links.times, {}, &LinkTime::seconds);
  const LinkTime& narrowest = *std::ranges::min_element(links.times, {}, &LinkTime::bytes_per_second);
  const double seconds = middle(links.times, &LinkTime::seconds),
               rate = middle(links.times, &LinkTime::bytes_per_second);
  const bool are_several = links.times.size() > 1;
  findings.push_back(
      {Severity::kOk, "links",
       links.where + ": a sum of one value over two ranks takes " + decimal_text(1e6 * seconds, 0) + " us" +
           (are_several ? " (worst " + decimal_text(1e6 * slowest.seconds, 0) + " us, " + name_pair(job, slowest) + ")"
                        : "") +
           ", and " + rate_text(rate) + " go each way" +
           (are_several ? " (worst " + rate_text(narrowest.bytes_per_second) + ", " + name_pair(job, narrowest) + ")"
                        : "") +
           format("; %zu pair%s", links.times.size(), are_several ? "s" : "")});
  std::string slow = describe_slow_host(job, links.times);
  if (slow.empty()) slow = describe_slow_pair(job, links.times);
  if (!slow.empty()) findings.push_back({Severity::kNote, "links", slow});
}

// Reports if even the best link carries much less than the network cards promise.
void judge_speed(const std::vector<HostFacts>& hosts, const std::vector<LinkTime>& between,
                 std::vector<Finding>& findings) {
  constexpr double kExpected = 0.5;
  std::int64_t megabits = 0;
  for (const HostFacts& host : hosts) {
    const std::vector<NetworkInterface> own = usable(*host.facts);
    if (own.size() != 1 || own.front().megabits_per_s == 0) return;
    megabits = megabits == 0 ? own.front().megabits_per_s : std::min(megabits, own.front().megabits_per_s);
  }
  const double rate = std::ranges::max(between, {}, &LinkTime::bytes_per_second).bytes_per_second,
               says = static_cast<double>(megabits) * 1e6 / 8;
  if (rate > kExpected * says) return;
  findings.push_back({Severity::kNote, "links",
                      "between hosts go at most " + rate_text(rate) + ", and their interfaces are for " +
                          rate_text(says) +
                          ": look for other traffic, a slow switch, or ranks without a core of their own"});
}

}  // namespace

std::vector<HostFacts> hosts_of(const JobFacts& job) {
  std::vector<std::string> names;
  for (const DoctorFacts& rank : job.ranks) names.push_back(rank.host);
  std::vector<HostFacts> hosts;
  for (const std::vector<int>& ranks : ranks_by_host(names))
    hosts.push_back({&job.ranks[static_cast<std::size_t>(ranks.front())], ranks});
  return hosts;
}

std::vector<Finding> judge_interfaces(const JobFacts& job, const std::vector<HostFacts>& hosts) {
  if (hosts.size() < 2) return {};
  std::vector<Finding> findings;
  const DoctorFacts& first = job.ranks.front();
  const bool is_tcp = first.mpi_library.starts_with("Open MPI") && !first.has_rdma && setting(first, "pml") != "ucx" &&
                      setting(first, "pml") != "cm";
  if (is_tcp) {
    findings.push_back(judge_open_mpi(hosts));
  } else {
    std::string all;
    for (const HostFacts& host : hosts)
      all += (all.empty() ? "" : "; ") + host.facts->host + ": " + listed(host.facts->interfaces);
    findings.push_back(
        {Severity::kOk, "network", "which interface MPI takes cannot be told from here; hosts have " + all});
  }
  const std::string settings = comma_list(first.network_settings);
  if (!settings.empty()) findings.push_back({Severity::kOk, "network", "settings in the environment: " + settings});
  return findings;
}

std::vector<Finding> judge_links(const JobFacts& job, const std::vector<HostFacts>& hosts) {
  Links within{"within hosts", {}}, between{"between hosts", {}};
  for (const LinkTime& link : job.links) {
    const bool is_within =
        job.ranks[static_cast<std::size_t>(link.first)].host == job.ranks[static_cast<std::size_t>(link.second)].host;
    (is_within ? within : between).times.push_back(link);
  }
  std::vector<Finding> findings;
  judge(job, within, findings);
  judge(job, between, findings);
  if (!between.times.empty()) judge_speed(hosts, between.times, findings);
  return findings;
}

}  // namespace eave
