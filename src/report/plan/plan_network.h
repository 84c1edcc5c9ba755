// Computes the cost of exchanges on a network from its rate, its delays and its cost per message. Reads rate and delay
// from the table that `eave bench-comm` prints.
#pragma once

#include <filesystem>
#include <optional>

namespace eave {

// The share of an Ethernet link's bits that carries values, as measured at 100 Mbit/s (bench/results/averager.md). Of
// 1,538 bytes on the wire for each full frame, 1,448 are values. Acknowledgements take a part of what remains.
constexpr double kPayloadOfEthernet = 0.93;

// Each host has one full-duplex link to a switch without congestion. The ranks of a host share its link.
struct PlanNetwork {
  double bytes_per_second = 1.25e9;    // of a host's link
  double delay_seconds = 50e-6;        // one way
  double host_bytes_per_second = 4e9;  // rate at which a rank sends to other ranks of its host
  double message_seconds = 5e-6;       // processor time of a rank for each message that it sends and receives
  int ranks_per_host = 1;              // the last host is taken to be full
  double payload = 1;                  // share of bytes_per_second that carries values

  int hosts(int ranks) const { return (ranks + ranks_per_host - 1) / ranks_per_host; }
  double value_rate() const { return payload * bytes_per_second; }
  int ranks_of_host(int ranks) const { return ranks < ranks_per_host ? ranks : ranks_per_host; }
  // The rate and the one-way delay between two of `ranks` ranks: those of the links if the ranks use several hosts.
  double rate(int ranks) const { return hosts(ranks) == 1 ? host_bytes_per_second : value_rate(); }
  double delay(int ranks) const { return hosts(ranks) == 1 ? 0 : delay_seconds; }
};

struct PlanCost {
  double seconds = 0;
  double message_seconds = 0;  // part of `seconds` that messages add to the time of their bytes
  double link_bytes = 0;       // sent over a host's link
};

// The cost of a sum of `bytes` of float32 values over `ranks` ranks, as eave's transports carry it out
// (src/transport/messages/message_wire.h). A sum is a reduce-scatter and an all-gather, with direct messages between
// all pairs. It is cut into segments of 15 Ki values per rank, or 2 Ki on slow links, whose bytes take longer than the
// messages.
//
// Symbols: p ranks, r on each of h hosts; M bytes; B a link's rate, L its delay; o the time of a message. The model is
// LogGP (Alexandrov, Ionescu, Schauser, Scheiman 1995): the larger of o and their time on the link separates the
// messages of a rank. L is paid twice:
//   mpi-flat   2 L + max(2 r M (p-r)/p / B,  2 M (r-1)/p / B_host,  2 (p-1) o segments)
//   mpi        The same among the r ranks of a host, and then among the h hosts, where each of a host's r ranks sends a
//              share: 2 L + max(2 M (h-1)/h / B,  2 (h-1) o segments). With one rank on each host it is mpi-flat.
// A ring sends as many bytes, 2 (p-1)/p M (Patarasuk, Yuan 2009), but it would pay 2 (p-1) L instead of 2 L.
PlanCost sum_flat(const PlanNetwork& network, int ranks, double bytes);
PlanCost sum_by_host(const PlanNetwork& network, int ranks, double bytes);

// The cost of a sum among `hosts` ranks, each on its own host.
PlanCost sum_between_hosts(const PlanNetwork& network, int hosts, double bytes);

struct BenchNetwork {
  int ranks = 0, hosts = 0;
  double bytes_per_second = 0;          // of a host's link, or within the host if there is one host
  std::optional<double> delay_seconds;  // one way between hosts; nothing with one host
};

// The operation must be `allreduce`, with two ranks and two sizes at least. A sum of M bytes over h hosts sends
// 2 (h-1)/h M over each link, and pays two delays. So the rate follows from the largest
// size, less the time of the smallest, and the delay is half of the time of the smallest.
// Throws Error, which names the file: kInputMissing, kBadData.
BenchNetwork read_bench_table(const std::filesystem::path& file);

}  // namespace eave
