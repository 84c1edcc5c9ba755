// What exchanges cost on a network, from its figures.
#pragma once

namespace eave {

// Hosts with a link each to a switch that holds nobody up, in both directions at once; ranks of a host share its link.
struct PlanNetwork {
  double bytes_per_second = 1.25e9;    // of a host's link
  double delay_seconds = 50e-6;        // one way
  double host_bytes_per_second = 4e9;  // that a rank sends to others of its host
  double message_seconds = 5e-6;       // of a rank's processor for each message that it sends and receives
  int ranks_per_host = 1;              // the last host counts as full

  int hosts(int ranks) const { return (ranks + ranks_per_host - 1) / ranks_per_host; }
  int ranks_of_host(int ranks) const { return ranks < ranks_per_host ? ranks : ranks_per_host; }
  // Between any two of so many ranks, over links where they have several hosts.
  double rate(int ranks) const { return hosts(ranks) == 1 ? host_bytes_per_second : bytes_per_second; }
  double delay(int ranks) const { return hosts(ranks) == 1 ? 0 : delay_seconds; }
};

struct PlanCost {
  double seconds = 0;
  double message_seconds = 0;  // the part of `seconds` that messages cost beyond their bytes
  double link_bytes = 0;       // sent over a host's link
};

// A sum of `bytes` of float32 values over `ranks` ranks, as eave's transports carry it out
// (src/transport/mpi_wire.cpp): a reduce-scatter and an all-gather by direct messages between all pairs, in segments of
// 15 Ki values for each rank (2 Ki on slow links, whose bytes take longer than the messages). p ranks, r on each of h
// hosts, M bytes, B a link's rate, L its delay, o the time of a message. In LogGP's terms (Alexandrov, Ionescu,
// Schauser, Scheiman 1995) a rank's messages follow each other by the larger of o and their time on the link, and L
// passes twice:
//   mpi-flat   2 L + max(2 r M (p-r)/p / B,  2 M (r-1)/p / B_host,  2 (p-1) o segments)
//   mpi        the same among r ranks within the host, and then among h hosts, where the r ranks of a host send a share
//              each: 2 L + max(2 M (h-1)/h / B,  2 (h-1) o segments). With one rank on each host it is mpi-flat.
// Bytes are those of a ring, 2 (p-1)/p M (Patarasuk, Yuan 2009), but a ring would wait 2 (p-1) L instead of 2 L.
PlanCost sum_flat(const PlanNetwork& network, int ranks, double bytes);
PlanCost sum_by_host(const PlanNetwork& network, int ranks, double bytes);

// Among `hosts` ranks, each on a host of its own.
PlanCost sum_between_hosts(const PlanNetwork& network, int hosts, double bytes);

}  // namespace eave
