// How the ranks of a job find each other without MPI: all others connect to rank 0 at a point that everybody knows.
//
// Rank 0 listens there. Every other rank connects to it, trying again until rank 0 is there, and listens on a free port
// of the address from which it connected. Rank 0 gathers these addresses and hands them out, with the salt from which
// all make the job's secret. Then every rank connects to all ranks between 0 and itself. When all are connected, nobody
// listens any more.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/tcp_links.h"
#include "transport/tcp/tcp_mac.h"
#include "transport/tcp/tcp_socket.h"

namespace eave {

struct TcpMeeting {
  int rank = 0, ranks = 1;
  TcpAddress point;
  // All ranks know it beforehand (EAVE_MEET_SECRET). Without it, whoever can reach the point can join.
  Secret secret{};
  std::string host;   // names this rank's host: ranks with the same name share memory
  int listener = -1;  // rank 0: a socket bound to the point, to be taken over; -1: none
  std::chrono::milliseconds limit = std::chrono::minutes(10);  // then the ranks that wait fail
  // Then rank 0 prints once which ranks are missing. If rank 0 itself is missing, rank 1 prints that.
  std::chrono::milliseconds reminder = std::chrono::minutes(1);
};

struct MetRanks {
  std::shared_ptr<TcpLinks> links;
  std::vector<int> hosts;          // for each rank, the lowest rank with the same host
  std::vector<std::string> names;  // of the hosts, by rank
};

// Collective. Throws Error(kPeerLost) after the limit: rank 0's message names the ranks that have not come. Throws it
// at once if a rank has come to rank 0 and ended again. Throws Error(kConfiguration) if secrets or numbers of ranks
// differ, or if a rank comes twice.
MetRanks meet(const TcpMeeting& meeting);

}  // namespace eave
