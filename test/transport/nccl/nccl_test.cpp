// The transport nccl over LazyCollectives instead of NVIDIA's library, so without GPUs. Ranks are threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "eave/decorators.h"
#include "test/expectations.h"
#include "test/transport/nccl/lazy_collectives.h"
#include "test/transport/ranks.h"
#include "test/transport/services.h"
#include "transport/core/call_record.h"
#include "transport/tcp/tcp_job.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The library of each rank. By default (own_gpu) each rank has the GPU of its own number.
using LibraryOf = std::function<LazyLibrary(int rank)>;
LazyLibrary own_gpu(int rank) { return {.bus_id = std::to_string(rank)}; }

JobResult run(int ranks, const LibraryOf& library_of,
              const std::function<void(Transport&, CollectiveLazyDevice&)>& body) {
  return run_job({"threads", ranks}, [&](Transport& threads) {
    const auto nccl = make_nccl_transport(threads, NcclUse::kRequired);
    CollectiveLazyDevice device(library_of(threads.rank()));
    const Attachment attachment(*nccl, device);
    body(*nccl, device);
  });
}

void expect_well(const JobResult& ended) {
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.printed, "");
}

void expect_one_message(const JobResult& ended, int code, const std::string& part) {
  EXPECT_EQ(ended.code, code);
  EXPECT_EQ(std::ranges::count(ended.printed, '\n'), 1) << ended.printed;
  EXPECT_TRUE(says(ended.printed, part));
}

TEST(Nccl, wait_holds_up_the_device_and_not_the_caller) {
  expect_well(run(2, own_gpu, [](Transport& transport, CollectiveLazyDevice& device) {
    Buffer buffer = device.allocate(1000), copy = device.allocate(1000);
    device.fill(buffer.slice(), 1);
    if (transport.rank() == 1) std::this_thread::sleep_for(300ms);
    const Clock::time_point start = Clock::now();
    Pending pending = transport.all_reduce_sum(buffer.slice());
    EXPECT_EQ(pending.wait(), 0);
    EXPECT_LT(Clock::now() - start, 100ms) << "rank 1 is 0.3 s late";
    device.copy(copy.slice(), buffer.slice());
    std::vector<float> host(1000);
    device.read(copy.slice(), host);
    EXPECT_EQ(host, std::vector<float>(1000, 2.0f));
  }));
}

TEST(Nccl, what_the_device_does_before_wait_goes_on_beside_the_operation) {
  expect_well(run(2, own_gpu, [](Transport& transport, CollectiveLazyDevice& device) {
    Buffer buffer = device.allocate(1000), other = device.allocate(1000);
    transport.all_gather("");
    if (transport.rank() == 1) std::this_thread::sleep_for(300ms);
    Pending pending = transport.all_reduce_sum(buffer.slice());
    const Clock::time_point start = Clock::now();
    device.fill(other.slice(), 1);
    device.wait();
    EXPECT_LT(Clock::now() - start, 150ms);
    if (transport.rank() == 0) {
      EXPECT_FALSE(pending.done());
    }
    pending.wait();
    device.wait();
    EXPECT_GE(device.operations, 1);
  }));
}

TEST(Nccl, values_in_host_memory_go_another_way) {
  expect_well(run(3, own_gpu, [](Transport& transport, CollectiveLazyDevice& device) {
    std::vector<float> host(10, 1.0f);
    transport.all_reduce_sum(host).wait();
    transport.broadcast(host, 1).wait();
    EXPECT_EQ(host, std::vector<float>(10, 3.0f));
    EXPECT_EQ(device.operations, 0);
    Buffer buffer = device.allocate(10);
    transport.all_reduce_sum(buffer.slice()).wait();
    device.wait();
    EXPECT_EQ(device.operations, 1);
    EXPECT_EQ(transport.name(), "nccl");
  }));
}

TEST(Nccl, pinned_memory_is_had_and_given_back_when_nothing_is_in_flight) {
  for (const int ranks : {1, 2}) {
    expect_well(run(ranks, own_gpu, [](Transport& transport, CollectiveLazyDevice& device) {
      DoublingService service(transport.rank());
      Serving serving(transport, &service);
      Buffer summed = device.allocate(1000), asked = device.allocate(std::size_t{5} << 20);
      // Each of the two requests needs more pinned memory than there is by then.
      for (const std::size_t count : {std::size_t{3} << 20, std::size_t{5} << 20}) {
        device.fill(asked.slice(), 2);
        if (transport.rank() == 1) std::this_thread::sleep_for(30ms);  // meanwhile the sum of rank 0 is in flight
        Pending sum = transport.all_reduce_sum(summed.slice());
        const std::vector<ServiceRequest> requests{{transport.size() - 1, 5, asked.slice().first(count)}};
        transport.request(requests).wait();
        sum.wait();
        std::vector<float> host(count);
        device.read(asked.slice().first(count), host);
        EXPECT_EQ(host, std::vector<float>(count, DoublingService::reply(2, 5, transport.size() - 1)));
      }
      serving.end();
      EXPECT_EQ(device.times_disturbed, 0);
    }));
  }
}

TEST(Nccl, counts_the_seconds_that_operations_took_on_the_device) {
  expect_well(run(2, own_gpu, [](Transport& nccl, CollectiveLazyDevice& device) {
    const auto transport = make_counting_transport(nccl);
    Buffer buffer = device.allocate(1000);
    for (int k = 0; k < 5; ++k) transport->all_reduce_sum(buffer.slice()).wait();
    transport->all_gather("");
    EXPECT_EQ(transport->counters().calls, 6);
    EXPECT_GE(transport->counters().seconds, 5e-3) << "each takes 1 ms by its ticket";
    EXPECT_LT(transport->counters().seconds, 1);
  }));
}

TEST(Nccl, peer_that_is_lost_surfaces_from_wait_and_from_every_later_call) {
  const LibraryOf fails_on_rank_1 = [](int rank) {
    LazyLibrary library = own_gpu(rank);
    if (rank == 1) library.operations_until_failure = 5;
    return library;
  };
  std::vector<int> codes(3);
  const JobResult ended = run(3, fails_on_rank_1, [&](Transport& transport, CollectiveLazyDevice& device) {
    Buffer buffer = device.allocate(1000);
    const ExitCode code = code_of([&] {
      for (;;) {
        Pending pending = transport.all_reduce_sum(buffer.slice());
        while (!pending.done()) std::this_thread::sleep_for(100us);
        pending.wait();
      }
    });
    codes[static_cast<std::size_t>(transport.rank())] = static_cast<int>(code);
    EXPECT_THROW(transport.all_reduce_sum(buffer.slice()), Error);
    EXPECT_THROW(transport.all_gather(""), Error);
  });
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(codes, (std::vector<int>{69, 69, 69}));
}

TEST(Nccl, group_whose_first_rank_cannot_set_up_is_an_error_for_all_of_it) {
  const LibraryOf library_of = [](int rank) {
    LazyLibrary library = own_gpu(rank);
    library.makes_words = rank == 0;
    return library;
  };
  expect_well(run(4, library_of, [](Transport& transport, CollectiveLazyDevice& device) {
    Buffer buffer = device.allocate(10);
    const std::vector<int> group{1, 2, 3}, others{0, 1, 2};
    if (transport.rank() > 0) {
      EXPECT_THROW(transport.all_reduce_sum(buffer.slice(), group), Error);
    }
    if (transport.rank() < 3) transport.all_reduce_sum(buffer.slice(), others).wait();
  }));
}

// The groups of NCCL take memory of the GPU, and gossip pairs each rank with all others.
TEST(Nccl, pairs_need_no_groups_of_their_own) {
  constexpr int kRanks = 5;
  expect_well(run(kRanks, own_gpu, [](Transport& transport, CollectiveLazyDevice& device) {
    Buffer buffer = device.allocate(1000);
    std::vector<float> host(1000);
    for (int round = 0; round < kRanks; ++round) {  // ranks whose sum is `round`, modulo their number, make a pair
      const int other = (round - transport.rank() + kRanks) % kRanks;
      if (other == transport.rank()) continue;
      const std::vector<int> pair{std::min(transport.rank(), other), std::max(transport.rank(), other)};
      device.fill(buffer.slice(), 1.0f + static_cast<float>(transport.rank()));
      transport.all_reduce_sum(buffer.slice(), pair).wait();
      device.read(buffer.slice(), host);
      EXPECT_EQ(host, std::vector<float>(1000, 2.0f + static_cast<float>(pair[0] + pair[1])));
    }
    EXPECT_EQ(device.operations, kRanks - 1);
    EXPECT_EQ(device.groups, 1);
  }));
}

// The first sum of a pair waits for the rank's own device. The watchdogs of other ranks must not take that for a call.
TEST(Nccl, pair_that_waits_for_its_own_device_is_in_no_call) {
  expect_well(run(3, own_gpu, [](Transport& transport, CollectiveLazyDevice& device) {
    Buffer buffer = device.allocate(1000);
    const auto computed = std::make_shared<LazyMark>();
    if (transport.rank() == 0) device.queue().enqueue({.awaited = computed});
    std::jthread computing([&] {
      std::this_thread::sleep_for(300ms);
      EXPECT_FALSE(transport.rank() == 0 && transport.device_calls()->under_way());
      computed->reach();
    });
    const std::array<int, 2> pair = {0, 1};
    if (transport.rank() < 2) transport.all_reduce_sum(buffer.slice(), pair).wait();
    device.wait();
  }));
}

void nothing(Transport&, CollectiveLazyDevice&) {}

TEST(Nccl, set_up_that_fails_ends_all_ranks_with_one_message) {
  expect_one_message(
      run(
          3, [](int rank) { return LazyLibrary{.bus_id = std::to_string(rank), .makes_words = false}; }, nothing),
      71, "no word");
}

TEST(Nccl, two_ranks_on_one_gpu_are_refused) {
  const LibraryOf shared = [](int rank) { return own_gpu(rank / 2); };
  expect_one_message(run(4, shared, nothing), 78, "rank 0 and rank 1 on ");
  EXPECT_TRUE(says(run(4, shared, nothing).printed, "share the one at 0"));
}

TEST(Nccl, ranks_without_a_library_or_with_another_are_refused) {
  const LibraryOf none = [](int rank) {
    return LazyLibrary{.bus_id = std::to_string(rank), .name = rank == 2 ? "" : "x"};
  };
  expect_one_message(run(3, none, nothing), 78, "rank 2 on ");
  const LibraryOf old = [](int rank) {
    return LazyLibrary{.bus_id = std::to_string(rank), .name = rank == 1 ? "NCCL 2.27.3" : "NCCL 2.28.9"};
  };
  expect_one_message(run(3, old, nothing), 78, "rank 0 has NCCL 2.28.9, rank 1 on ");
}

// Runs a job in which the last `on_cpu` ranks compute on the CPU.
JobResult run_mixed(int ranks, int on_cpu) {
  return run_job({"threads", ranks}, [&](Transport& threads) {
    const auto nccl = make_nccl_transport(threads, NcclUse::kRequired);
    CollectiveLazyDevice lazy(own_gpu(threads.rank()));
    Device& device = threads.rank() >= ranks - on_cpu ? cpu_device() : static_cast<Device&>(lazy);
    const Attachment attachment(*nccl, device);
  });
}

TEST(Nccl, ranks_on_the_cpu_are_refused) {
  expect_one_message(run_mixed(3, 1), 78, "rank 2 on ");
  expect_one_message(run_mixed(4, 2), 78, "(and 1 other) computes on cpu");
  expect_one_message(run_mixed(3, 3), 64, "every rank computes on cpu");
}

// The messages of a job that attaches twice, in which rank 1 of 2 ranks has the library `second`.
std::string warnings_of_fallback(const LazyLibrary& second) {
  std::string said;
  on_ranks({"threads", 2}, [&](Transport& threads) {
    const auto nccl = make_nccl_transport(threads, NcclUse::kWherePossible, [&](const std::string& text) {
      EXPECT_EQ(threads.rank(), 0);
      said += text + "\n";
    });
    CollectiveLazyDevice device(threads.rank() == 1 ? second : own_gpu(0));
    for (int turn = 0; turn < 2; ++turn) const Attachment attachment(*nccl, device);
  });
  return said;
}

TEST(Nccl, fallback_is_told_once_with_its_reason_and_what_is_used_instead) {
  EXPECT_EQ(warnings_of_fallback(own_gpu(1)), "");
  for (const auto& [library, reason] : std::vector<std::pair<LazyLibrary, std::string>>{
           {{.bus_id = "1", .name = ""}, "rank 1 on "},
           {{.bus_id = "1", .name = "lazy 2.0"}, "rank 0 has lazy 1.0, rank 1 on "},
           {{.bus_id = "0"}, "share the one at 0"}}) {
    const std::string said = warnings_of_fallback(library);
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    EXPECT_TRUE(says(said, "GPUs exchange by threads instead of NCCL"));
    EXPECT_TRUE(says(said, reason));
    EXPECT_EQ(said.find("--transport"), std::string::npos) << said;
  }
}

TEST(Nccl, is_tried_only_if_auto_chose_a_transport_of_processes) {
  EXPECT_TRUE(tries_nccl("auto", "mpi"));
  EXPECT_TRUE(tries_nccl("auto", "tcp"));
  EXPECT_FALSE(tries_nccl("auto", "loopback"));
  for (const char* named : {"mpi", "tcp", "mpi-flat", "threads", "nccl"}) EXPECT_FALSE(tries_nccl(named, named));
}

// As under torchrun: ranks that meet by TCP form the same groups, and no message of NCCL's goes by MPI.
TEST(Nccl, sums_of_all_ranks_and_of_groups_do_without_mpi) {
  const int code = run_tcp_threads(3, {0, 0, 1},
                                   [](Transport& tcp) {
                                     const auto nccl = make_nccl_transport(tcp, NcclUse::kWherePossible);
                                     CollectiveLazyDevice device(own_gpu(tcp.rank()));
                                     const Attachment attachment(*nccl, device);
                                     EXPECT_EQ(nccl->name(), "nccl");
                                     Buffer buffer = device.allocate(1000);
                                     device.fill(buffer.slice(), 1);
                                     nccl->all_reduce_sum(buffer.slice()).wait();
                                     const std::array<int, 2> group = {0, 2};
                                     if (tcp.rank() != 1) nccl->all_reduce_sum(buffer.slice(), group).wait();
                                     std::vector<float> host(1000);
                                     device.read(buffer.slice(), host);
                                     EXPECT_EQ(host, std::vector<float>(1000, tcp.rank() == 1 ? 3.0f : 6.0f));
                                     EXPECT_EQ(device.operations, tcp.rank() == 1 ? 1 : 2);
                                   },
                                   {.name = "tcp"});
  EXPECT_EQ(code, 0);
}

TEST(Nccl, where_possible_falls_back_to_the_transport_behind_it) {
  for (const bool possible : {true, false})
    on_ranks({"threads", 2}, [&](Transport& threads) {
      const auto nccl = make_nccl_transport(threads, NcclUse::kWherePossible);
      EXPECT_EQ(nccl->name(), "threads");
      CollectiveLazyDevice device(own_gpu(possible ? threads.rank() : 0));
      const Attachment attachment(*nccl, device);
      EXPECT_EQ(nccl->name(), possible ? "nccl" : "threads");
      Buffer buffer = device.allocate(10);
      device.fill(buffer.slice(), 1);
      nccl->all_reduce_sum(buffer.slice()).wait();
      std::vector<float> host(10);
      device.read(buffer.slice(), host);
      EXPECT_EQ(host, std::vector<float>(10, 2.0f));
      EXPECT_EQ(device.operations, possible ? 1 : 0);
    });
}

}  // namespace
}  // namespace eave
