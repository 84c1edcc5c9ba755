// Defines ranks.h for test programs without mpirun, in place of ranks_in_process.cpp: all transports that one process
// can run, and the same with all values in a device's memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "eave/decorators.h"
#include "test/transport/lazy_device.h"
#include "test/transport/nccl/lazy_collectives.h"
#include "test/transport/on_device.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using Body = std::function<void(Transport&)>;

int run(const std::string& transport, int ranks, const Body& body) {
  const auto kind =
      std::ranges::find_if(transport_kinds(), [&](const TransportKind& each) { return each.name == transport; });
  return kind == transport_kinds().end() ? -1 : kind->run(ranks, body);
}

Body staged(const std::string& name, const Body& body) {
  return [&body, name](Transport& transport) {
    LazyDevice device;
    OnDevice on_device(transport, device, name);
    body(on_device);
  };
}

int run_nccl(int ranks, const Body& body) {
  return run("threads", ranks, [&](Transport& threads) {
    const auto nccl = make_nccl_transport(threads, NcclUse::kRequired);
    CollectiveLazyDevice device({.bus_id = std::to_string(threads.rank())});
    OnDevice on_device(*nccl, device, "lazy_nccl");
    body(on_device);
  });
}

// The transports on a device by name: each runs the body on so many ranks and returns the exit code.
const std::map<std::string, std::function<int(int, const Body&)>> kOnDevices = {
    {"staged_loopback", [](int, const Body& body) { return run("loopback", 1, staged("staged_loopback", body)); }},
    {"staged_threads",
     [](int ranks, const Body& body) { return run("threads", ranks, staged("staged_threads", body)); }},
    {"lazy_nccl", run_nccl},
};

}  // namespace

std::vector<Ranks> ranks_under_test() {
  std::vector<Ranks> all = ranks_of_one_process();
  all.push_back({"staged_loopback", 1});
  for (int count : {2, 4}) all.push_back({"staged_threads", count});
  for (int count : {1, 3}) all.push_back({"lazy_nccl", count});
  return all;
}

void on_ranks(const Ranks& ranks, const Body& body) {
  const auto on_device = kOnDevices.find(ranks.transport);
  EXPECT_EQ(
      on_device != kOnDevices.end() ? on_device->second(ranks.count, body) : run(ranks.transport, ranks.count, body),
      0);
}

}  // namespace eave
