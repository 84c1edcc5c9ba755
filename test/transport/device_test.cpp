// Devices together with decorators of a transport. Also checks that LazyDevice finds missing waits. Ranks are threads.
#include <gtest/gtest.h>

#include <chrono>

#include "eave/decorators.h"
#include "test/expectations.h"
#include "test/transport/lazy_device.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{2} << 20;

// If this fails, tests that use LazyDevice prove nothing.
TEST(LazyDevice, shows_who_does_not_wait_for_it) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "races on purpose";
#endif
  LazyDevice device;
  Buffer buffer = device.allocate(1000);
  std::vector<float> host(1000, -1.0f);
  const std::unique_ptr<CopyQueue> copies = device.make_copy_queue();
  for (int command = 0; command < 50; ++command) device.fill(buffer.slice(), 1);
  device.fill(buffer.slice(), 2);
  copies->read(buffer.slice(), host);
  EXPECT_EQ(host.back(), -1.0f) << "the copy has not been waited for";
  copies->wait();
  EXPECT_NE(host.back(), 2.0f) << "the device has not been waited for";
  device.mark()->wait();
  copies->read(buffer.slice(), host);
  copies->wait();
  EXPECT_EQ(host, std::vector<float>(1000, 2.0f));
}

TEST(LazyDeviceDeathTest, ends_who_touches_its_memory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        LazyDevice device;
        device.allocate(10).slice().front() = 1;
      },
      "");
}

TEST(Staged, peer_that_is_lost_leaves_nobody_waiting_and_nothing_in_flight) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::vector<int> woken(3, 0);
    on_ranks({"threads", 3}, [&](Transport& transport) {
      LazyDevice device;
      const Attachment attachment(transport, device);
      Buffer buffer = device.allocate(3 * kPiece);
      if (transport.rank() == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(repeat));
        return transport.abort(ExitCode::kInternal);
      }
      const ExitCode code = code_of([&] {
        for (;;) transport.all_reduce_sum(buffer.slice()).wait();
      });
      woken[static_cast<std::size_t>(transport.rank())] = static_cast<int>(code);
    });
    EXPECT_EQ(woken, (std::vector<int>{0, 69, 69}));
  }
}

TEST(Shaped, operation_on_a_device_pays_the_delay_once_however_long_it_is) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_shaped_transport(threads, {.delay_seconds = 1, .bytes_per_second = 0});
    LazyDevice device;
    const Attachment attachment(*transport, device);
    Buffer buffer = device.allocate(2 * kPiece);
    device.fill(buffer.slice(), 1);
    const Clock::time_point start = Clock::now();
    transport->all_reduce_sum(buffer.slice()).wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    EXPECT_GE(seconds, 1);
    EXPECT_LT(seconds, 1.9) << "its pieces would take 1 s each";
    std::vector<float> host(buffer.size());
    device.read(buffer.slice(), host);
    EXPECT_EQ(host, std::vector<float>(host.size(), 2.0f));
  });
}

TEST(Counting, counts_no_seconds_while_the_device_computes_what_is_to_be_exchanged) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    LazyDevice device;
    const Attachment attachment(*transport, device);
    Buffer buffer = device.allocate(1000);
    for (int command = 0; command < 1500; ++command) device.fill(buffer.slice(), 1);  // takes at least 0.45 s
    transport->all_reduce_sum(buffer.slice()).wait();
    EXPECT_LT(transport->counters().seconds, 0.3);
  });
}

TEST(Counting, counts_operations_on_a_device_as_one_call_each) {
  on_ranks({"threads", 2}, [](Transport& threads) {
    const auto transport = make_counting_transport(threads);
    LazyDevice device;
    const Attachment attachment(*transport, device);
    const std::int64_t calls = transport->counters().calls, bytes = transport->counters().bytes;
    Buffer buffer = device.allocate(3 * kPiece);
    transport->all_reduce_sum(buffer.slice()).wait();
    EXPECT_EQ(transport->counters().calls - calls, 1);
    EXPECT_EQ(transport->counters().bytes - bytes, static_cast<std::int64_t>(buffer.size() * sizeof(float)));
  });
}

}  // namespace
}  // namespace eave
