// The transports and numbers of ranks on which contracts are tested. Each test program links one file that defines
// ranks_under_test() and on_ranks().
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "eave/job.h"
#include "eave/options.h"
#include "eave/transport.h"

namespace eave {

// How a job of ranks ended: its exit code, and the text that it printed.
struct JobResult {
  int code = 0;
  std::string printed;
};

struct Ranks {
  std::string transport;
  int count = 1;
};

inline std::ostream& operator<<(std::ostream& out, const Ranks& ranks) {
  return out << ranks.transport << " with " << ranks.count << (ranks.count == 1 ? " rank" : " ranks");
}

inline std::string name_of_ranks(const testing::TestParamInfo<Ranks>& info) {
  std::string name = info.param.transport + "_" + std::to_string(info.param.count);
  std::ranges::replace(name, '-', '_');  // GoogleTest takes no other
  return name;
}

// All transports that one process can run, on several numbers of ranks. test/mpi runs the others under mpirun.
inline std::vector<Ranks> ranks_of_one_process() {
  std::vector<Ranks> all;
  for (const TransportKind& kind : transport_kinds())
    for (int count : {1, 2, 3, 4})
      if (!kind.is_launched && (count == 1 || kind.starts_ranks)) all.push_back({kind.name, count});
  return all;
}

// Runs `body` on ranks of this process, and catches what they print to stderr.
inline JobResult run_job(const Ranks& ranks, const std::function<void(Transport&)>& body) {
  testing::internal::CaptureStderr();
  const int code = find_kind(transport_kinds(), ranks.transport).run(ranks.count, body);
  return {code, testing::internal::GetCapturedStderr()};
}

// All cases that this test program can run.
std::vector<Ranks> ranks_under_test();

// Runs `body` on every rank, and expects that it throws nothing.
void on_ranks(const Ranks& ranks, const std::function<void(Transport&)>& body);

}  // namespace eave
