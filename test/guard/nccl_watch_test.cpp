// Guards of ranks that sum by the transport nccl, over LazyCollectives instead of NVIDIA's library. Ranks are threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "eave/decorators.h"
#include "guard/watchdog.h"
#include "test/expectations.h"
#include "test/transport/nccl/lazy_collectives.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using namespace std::chrono_literals;

struct Seen {
  std::mutex mutex;
  std::string said;
  std::atomic<int> code{0};  // with which the watchdog would end the job
};

using WatchedBody = std::function<void(Transport&, CollectiveLazyDevice&, RankProgress&)>;

// As in a job with --transport auto, NCCL comes after the guard and ends before it.
void watch_two(double limit, Seen& seen, const WatchedBody& body) {
  on_ranks({"threads", 2}, [&](Transport& threads) {
    WatchdogSettings settings;
    settings.limits.setup = settings.limits.step = {limit, "the limit"};
    settings.hosts = {"a", "b"};
    settings.say = [&](const std::string& line) {
      const std::lock_guard lock(seen.mutex);
      seen.said += line + "\n";
    };
    settings.leave = [&](ExitCode code) { seen.code = static_cast<int>(code); };
    RankProgress rank_progress;
    Watchdog watchdog(*threads.control(), *threads.calls(), rank_progress, threads.rank(), settings);
    const Guard guard(threads.control(), {&watchdog}, 5ms);
    const auto nccl = make_nccl_transport(threads, NcclUse::kWherePossible);
    rank_progress.device_calls().show(nccl->device_calls());
    CollectiveLazyDevice device({.bus_id = std::to_string(threads.rank())});
    const Attachment attachment(*nccl, device);
    body(*nccl, device, rank_progress);
  });
}

// Sleeps while it holds, at most for 5 s.
void wait_while(const std::function<bool()>& holds) {
  for (const auto begin = SteadyClock::now(); holds() && SteadyClock::now() - begin < 5s;)
    std::this_thread::sleep_for(1ms);
}

void sum(Transport& transport, CollectiveLazyDevice& device) {
  Buffer buffer = device.allocate(1000);
  Pending pending = transport.all_reduce_sum(buffer.slice());
  while (!pending.done()) std::this_thread::sleep_for(1ms);
}

TEST(NcclWatch, names_a_late_rank_then_ends_with_69) {
  Seen seen;
  watch_two(1, seen, [&](Transport& transport, CollectiveLazyDevice& device, RankProgress& rank_progress) {
    rank_progress.enter(Section::kStep, 7);
    if (transport.rank() == 1) wait_while([&] { return seen.code == 0; });
    sum(transport, device);
  });
  EXPECT_EQ(seen.code, 69);
  EXPECT_TRUE(says(seen.said, "eave: warning: rank 1 on b is still computing step 7, for 0."));
  EXPECT_TRUE(says(seen.said, "eave: rank 1 on b is still computing step 7, for 1 s"));
}

// Rank 1 has called the sum, but its device is not there yet.
TEST(NcclWatch, names_a_rank_whose_device_is_late) {
  Seen seen;
  watch_two(1, seen, [&](Transport& transport, CollectiveLazyDevice& device, RankProgress& rank_progress) {
    rank_progress.enter(Section::kStep, 7);
    const auto computed = std::make_shared<LazyMark>();
    std::jthread computing;
    if (transport.rank() == 1) {
      device.queue().enqueue({.awaited = computed});
      computing = std::jthread([&] {
        wait_while([&] { return seen.code == 0; });
        computed->reach();
      });
    }
    sum(transport, device);
  });
  EXPECT_EQ(seen.code, 69);
  EXPECT_TRUE(says(seen.said, "eave: rank 1 on b is still computing step 7, for 1 s"));
}

TEST(NcclWatch, is_silent_while_sums_end) {
  Seen seen;
  watch_two(2, seen, [&](Transport& transport, CollectiveLazyDevice& device, RankProgress& rank_progress) {
    for (int step = 1; step <= 300; ++step) {
      rank_progress.enter(Section::kStep, step);
      sum(transport, device);
    }
    transport.all_gather("");
    // The record catches up within one look, although nobody calls the transport.
    wait_while([&] { return transport.device_calls()->collectives() < 300; });
    EXPECT_FALSE(transport.device_calls()->under_way());
    EXPECT_EQ(transport.device_calls()->collectives(), 300);
  });
  EXPECT_EQ(seen.said, "");
}

// A device's library may block in a call until other ranks are there, as at its first sum.
TEST(NcclWatch, sees_a_call_that_the_library_does_not_take) {
  Seen seen;
  watch_two(1, seen, [&](Transport& transport, CollectiveLazyDevice& device, RankProgress& rank_progress) {
    rank_progress.enter(Section::kStep, 7);
    const auto wait = [&] { wait_while([&] { return seen.code == 0; }); };
    transport.rank() == 0 ? void(device.before_taking = wait) : wait();
    sum(transport, device);
  });
  EXPECT_EQ(seen.code, 69);
}

}  // namespace
}  // namespace eave
