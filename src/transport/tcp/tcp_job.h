// Runs this process as a rank of a job whose ranks meet by TCP, without MPI.
//
// The launcher says by environment variables how many ranks there are and which one this is (launchers.h). The meeting
// point stands in these variables, which the option --meet and the Python package set:
//   EAVE_MEET         HOST:PORT of rank 0
//   EAVE_MEET_SECRET  what all ranks of the job know and nobody else (optional)
//   EAVE_MEET_RANK    rank and number of ranks, such as 1/4 (optional; the launcher's variables otherwise say it)
//   EAVE_MEET_LIMIT   how long ranks wait for each other there, such as 30min (optional; 10 minutes otherwise)
//   EAVE_MEET_SOCKET  rank 0: the descriptor of a socket that is bound to the point already (optional)
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "eave/transport.h"
#include "transport/core/wire.h"
#include "transport/tcp/tcp_meeting.h"

namespace eave {

struct TcpUse {
  std::string name;          // of the transport
  bool sums_by_host = true;  // false: sums in rank order, whatever the hosts
};

// TransportKind::run.
int run_tcp_job(const std::function<void(Transport&)>& body, const TcpUse& use);

// The same with ranks as threads of this process, over real connections, for tests. `hosts`: as in
// MessageWireSettings. As with the transport `threads`, the job's code is that of the first rank that failed.
int run_tcp_threads(int ranks, const std::vector<int>& hosts, const std::function<void(Transport&)>& body,
                    const TcpUse& use);

}  // namespace eave
