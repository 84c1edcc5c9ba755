// Sums and broadcasts directly in a device's memory, as with a CUDA-aware MPI, whose messages accept device addresses.
#include "transport/core/direct_wire.h"

#include <gtest/gtest.h>

#include <map>

#include "test/mpi/own_communicator.h"
#include "test/transport/lazy_device.h"
#include "test/transport/numbers.h"
#include "transport/core/background_transport.h"

namespace eave {
namespace {

// Messages to and from a lazy device's memory. MPI itself cannot touch it, so this class translates the addresses.
class Reaching final : public ByteExchanger {
 public:
  Reaching(ByteExchanger& inner, const LazyDevice& device) : inner_(inner), device_(device) {}

  void start(std::size_t number, const ByteExchange& exchange) override {
    Reached& reached = reached_[number];
    reached = {};
    for (const auto bytes : exchange.outgoing) reached.outgoing.push_back(reach(bytes));
    for (const auto bytes : exchange.incoming) reached.incoming.push_back(reach(bytes));
    inner_.start(number, {exchange.ranks, reached.outgoing, reached.incoming});
  }
  void finish(std::size_t number) override { inner_.finish(number); }
  bool was_used() const { return !reached_.empty(); }

 private:
  struct Reached {
    std::vector<std::span<const std::byte>> outgoing;
    std::vector<std::span<std::byte>> incoming;
  };
  template <class Byte>
  std::span<Byte> reach(std::span<Byte> bytes) {
    if (bytes.empty()) return bytes;
    const auto* const address = reinterpret_cast<const float*>(bytes.data());
    EXPECT_TRUE(device_.holds({address, 1})) << "on the host";
    return {reinterpret_cast<std::byte*>(device_.reachable(address)), bytes.size()};
  }

  ByteExchanger& inner_;
  const LazyDevice& device_;
  std::map<std::size_t, Reached> reached_;
};

// An MpiWire that behaves as if MPI were CUDA-aware.
class ReachingWire final : public Wire {
 public:
  ReachingWire(MpiWire& mpi, ByteExchanger* messages) : mpi_(mpi), messages_(messages) {}
  int rank() const override { return mpi_.rank(); }
  int size() const override { return mpi_.size(); }
  std::string name() const override { return "reaching"; }
  ByteExchanger* exchanger_in(DeviceKind) override { return messages_; }
  void all_reduce_sum(Slice values, std::span<const int> ranks) override { mpi_.all_reduce_sum(values, ranks); }
  void sum_compressed(Slice values, std::span<const int> ranks, const Compression& compression) override {
    mpi_.sum_compressed(values, ranks, compression);
  }
  void broadcast(Slice values, int root) override { mpi_.broadcast(values, root); }
  std::vector<std::string> texts(const std::string& mine, TextRoute route) override { return mpi_.texts(mine, route); }
  void serve(Service* service) override { mpi_.serve(service); }
  void request(std::span<const ServiceRequest> requests) override { mpi_.request(requests); }
  void withdraw() noexcept override { mpi_.withdraw(); }
  void abort(ExitCode code) noexcept override { mpi_.abort(code); }

 private:
  MpiWire& mpi_;
  ByteExchanger* messages_;
};

class Direct : public OwnCommunicator {
 protected:
  Direct() : wire_(communicator_), messages_(wire_, device_) {}

  // Copies `values` to the device, calls `carry_out` with them there, and returns them as they are afterwards.
  template <class CarryOut>
  std::vector<float> on_device(std::vector<float> values, CarryOut carry_out) {
    Buffer buffer = device_.allocate(values.size());
    if (values.empty()) return carry_out(buffer.slice()), values;
    device_.write(buffer.slice(), values);
    device_.wait();
    carry_out(buffer.slice());
    const std::unique_ptr<CopyQueue> copies = device_.make_copy_queue();
    copies->read(buffer.slice(), values);
    copies->wait();
    return values;
  }

  MpiWire wire_;
  LazyDevice device_;
  Reaching messages_;
};

TEST_F(Direct, sums_have_the_bits_of_the_hosts) {
  for (std::size_t part : {1, 7, 1000}) {
    DirectWire direct(messages_, device_, rank_, size_, part);
    for (std::size_t count : {0, 1, 5, 60, 997}) {
      const std::vector<int> all = all_ranks(size_);
      const auto values = on_device(uneven_numbers(rank_, count), [&](Slice on) { direct.all_reduce_sum(on, {}); });
      EXPECT_TRUE(same_bits(values, sum_in_order(all, count))) << count << " values in parts of " << part;
    }
  }
}

TEST_F(Direct, sums_of_a_group_leave_the_others_alone) {
  DirectWire direct(messages_, device_, rank_, size_, 64);
  for (int left_out = 0; left_out < size_ && size_ > 1; ++left_out) {
    std::vector<int> group;
    for (int rank = 0; rank < size_; ++rank)
      if (rank != left_out) group.push_back(rank);
    if (rank_ == left_out) continue;
    const auto values = on_device(uneven_numbers(rank_, 500), [&](Slice on) { direct.all_reduce_sum(on, group); });
    EXPECT_TRUE(same_bits(values, sum_in_order(group, 500))) << "without rank " << left_out;
  }
}

TEST_F(Direct, broadcasts_reach_all) {
  for (std::size_t part : {1, 7, 1000}) {
    DirectWire direct(messages_, device_, rank_, size_, part);
    for (int root = 0; root < size_; ++root)
      for (std::size_t count : {1, 5, 100}) {
        const auto values = on_device(uneven_numbers(rank_, count), [&](Slice on) { direct.broadcast(on, root); });
        EXPECT_TRUE(same_bits(values, uneven_numbers(root, count))) << count << " values of rank " << root;
      }
  }
}

TEST_F(Direct, is_taken_where_messages_reach_the_devices_of_all_ranks) {
  if (size_ == 1) return;
  for (const bool all : {true, false}) {
    Reaching messages(wire_, device_);
    BackgroundTransport transport(std::make_unique<ReachingWire>(wire_, all || rank_ > 0 ? &messages : nullptr));
    const std::vector<int> ranks = all_ranks(size_);
    const Attachment attachment(transport, device_);
    const auto sum = on_device(uneven_numbers(rank_, 3000), [&](Slice on) { transport.all_reduce_sum(on).wait(); });
    EXPECT_TRUE(same_bits(sum, sum_in_order(ranks, 3000)));
    const auto first = on_device(uneven_numbers(rank_, 3000), [&](Slice on) { transport.broadcast(on, 0).wait(); });
    EXPECT_TRUE(same_bits(first, uneven_numbers(0, 3000)));
    EXPECT_EQ(messages.was_used(), all);
    std::vector<float> on_host = uneven_numbers(rank_, 3000);
    transport.all_reduce_sum(on_host).wait();
    EXPECT_TRUE(same_bits(on_host, sum));
  }
}

}  // namespace
}  // namespace eave
