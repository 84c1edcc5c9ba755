// Operations on values in a device's memory: when they read and write these values relative to the device's own work.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "test/transport/lazy_device.h"
#include "test/transport/numbers.h"
#include "test/transport/ranks.h"
#include "test/transport/services.h"
#include "test/transport/timing.h"

namespace eave {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPiece = std::size_t{2} << 20;

// Repeats `few` numbers. Their count does not divide the length of the transport's pieces, so a piece at a wrong place
// gives wrong sums.
std::vector<float> repeat(const std::vector<float>& few, std::size_t count) {
  std::vector<float> many(count);
  for (std::size_t at = 0; at < count; at += few.size())
    std::copy_n(few.begin(), std::min(few.size(), count - at), many.begin() + static_cast<std::ptrdiff_t>(at));
  return many;
}
constexpr std::size_t kFew = 4099;
std::vector<float> numbers_of(int rank, std::size_t count) { return repeat(uneven_numbers(rank, kFew), count); }

std::vector<float> read(Device& device, Slice values) {
  std::vector<float> host(values.size());
  device.read(values, host);
  return host;
}

std::vector<float> sum_of_all(const Transport& transport, std::size_t count) {
  const std::vector<int> ranks = all_ranks(transport.size());
  return repeat(sum_in_order(ranks, kFew), count);
}

// The transports without those on devices. Other tests of the contract run on devices, too; these attach one
// themselves.
std::vector<Ranks> without_devices() {
  std::vector<Ranks> some = ranks_under_test();
  std::erase_if(some, [](const Ranks& each) { return each.transport.find('_') != std::string::npos; });
  return some;
}

class Staged : public testing::TestWithParam<Ranks> {};

TEST_P(Staged, sums_of_many_pieces_have_the_bits_of_host_memory) {
  on_ranks(GetParam(), [](Transport& transport) {
    LazyDevice device;
    const Attachment attachment(transport, device);
    for (std::size_t count : {kPiece - 1, kPiece, kPiece + 1, 3 * kPiece + 12345}) {
      Buffer buffer = device.allocate(count);
      device.write(buffer.slice(), numbers_of(transport.rank(), count));
      transport.all_reduce_sum(buffer.slice()).wait();
      EXPECT_TRUE(same_bits(read(device, buffer.slice()), sum_of_all(transport, count))) << count;
      device.write(buffer.slice(), numbers_of(transport.rank(), count));
      transport.broadcast(buffer.slice(), transport.size() - 1).wait();
      EXPECT_TRUE(same_bits(read(device, buffer.slice()), numbers_of(transport.size() - 1, count))) << count;
    }
  });
}

TEST_P(Staged, operations_take_their_place_in_the_devices_queue) {
  on_ranks(GetParam(), [](Transport& transport) {
    LazyDevice device;
    const Attachment attachment(transport, device);
    const float p = static_cast<float>(transport.size());
    Buffer a = device.allocate(5000), b = device.allocate(5000);
    for (int step = 0; step < 20; ++step) {
      device.fill(b.slice(), static_cast<float>(step));
      device.copy(a.slice(), b.slice());  // fill and copy take effect late; the sum waits for them
      Pending sum = transport.all_reduce_sum(a.slice());
      device.fill(b.slice(), -1);  // the device works on while the sum runs
      sum.wait();
      device.copy(b.slice(), a.slice());  // reads the sum
      EXPECT_EQ(read(device, b.slice()), std::vector<float>(5000, p * static_cast<float>(step)));
    }
  });
}

TEST_P(Staged, ranks_may_hold_the_same_values_in_memory_of_different_kinds) {
  on_ranks(GetParam(), [](Transport& transport) {
    LazyDevice lazy;
    const bool is_on_device = transport.rank() % 2 == 0;
    Device& device = is_on_device ? lazy : cpu_device();
    const Attachment attachment(transport, device);
    const std::size_t count = 2 * kPiece + 7;
    Buffer buffer = device.allocate(count);
    device.write(buffer.slice(), numbers_of(transport.rank(), count));
    transport.all_reduce_sum(buffer.slice()).wait();
    EXPECT_TRUE(same_bits(read(device, buffer.slice()), sum_of_all(transport, count)));
    for (int root = 0; root < std::min(transport.size(), 2); ++root) {
      device.write(buffer.slice(), numbers_of(transport.rank(), count));
      transport.broadcast(buffer.slice(), root).wait();
      EXPECT_TRUE(same_bits(read(device, buffer.slice()), numbers_of(root, count))) << "from " << root;
    }
    std::vector<float> host(3, 1.0f);  // sums in host memory mix with sums on the device
    transport.all_reduce_sum(host).wait();
    EXPECT_EQ(host, std::vector<float>(3, static_cast<float>(transport.size())));
  });
}

TEST_P(Staged, requests_larger_than_any_before_come_and_go_with_sums_in_flight) {
  on_ranks(GetParam(), [](Transport& transport) {
    LazyDevice device;
    const Attachment attachment(transport, device);
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    const int owner = (transport.rank() + 1) % transport.size();
    Buffer summed = device.allocate(1000), asked = device.allocate(4 * kPiece);
    for (std::size_t count : {std::size_t{1000}, kPiece, 4 * kPiece}) {
      device.fill(summed.slice(), 1);
      device.fill(asked.slice(), 2);
      std::vector<float> on_host(10, 3.0f);
      const std::vector<ServiceRequest> requests{{owner, 5, asked.slice().first(count)}, {owner, 6, on_host}};
      Pending sum = transport.all_reduce_sum(summed.slice());
      Pending reply = transport.request(requests);
      sum.wait();
      reply.wait();
      EXPECT_EQ(read(device, summed.slice()).back(), static_cast<float>(transport.size()));
      EXPECT_EQ(read(device, asked.slice().first(count)),
                std::vector<float>(count, DoublingService::reply(2, 5, owner)));
      EXPECT_EQ(on_host, std::vector<float>(10, DoublingService::reply(3, 6, owner)));
    }
    serving.end();
  });
}

TEST_P(Staged, requests_are_answered_while_the_owner_waits_for_its_device) {
  on_ranks(GetParam(), [](Transport& transport) {
    LazyDevice device;
    const Attachment attachment(transport, device);
    DoublingService service(transport.rank());
    Serving serving(transport, &service);
    Buffer buffer = device.allocate(1000);
    std::vector<float> values(1000, 1.0f);
    const std::vector<ServiceRequest> requests{{0, 0, values}};
    Pending sum;
    if (transport.rank() == 0) {
      for (int command = 0; command < 3000; ++command) device.fill(buffer.slice(), 1);  // takes about 1 s
      sum = transport.all_reduce_sum(buffer.slice());
    } else {
      std::this_thread::sleep_for(50ms);
      const Clock::time_point start = Clock::now();
      transport.request(requests).wait();
      EXPECT_LT(seconds_since(start), 0.5);
      device.fill(buffer.slice(), 1);
      sum = transport.all_reduce_sum(buffer.slice());
    }
    sum.wait();
    EXPECT_EQ(read(device, buffer.slice()).front(), static_cast<float>(transport.size()));
    serving.end();
  });
}

TEST_P(Staged, a_device_may_be_attached_again_and_another_after_it) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      LazyDevice device;
      for (int again = 0; again < 2; ++again) {
        const Attachment attachment(transport, device);
        Buffer buffer = device.allocate(100);
        device.fill(buffer.slice(), 1);
        transport.all_reduce_sum(buffer.slice()).wait();
        EXPECT_EQ(read(device, buffer.slice()).front(), static_cast<float>(transport.size()));
      }
      std::vector<float> host(100, 1.0f);
      transport.all_reduce_sum(host).wait();
      EXPECT_EQ(host.front(), static_cast<float>(transport.size()));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(On, Staged, testing::ValuesIn(without_devices()), name_of_ranks);

}  // namespace
}  // namespace eave
