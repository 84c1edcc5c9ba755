// Helpers for tests of free-running exchanges: runs whose ranks are threads at random paces, and files with the order
// of exchanges.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "communicator/center/exchange_log.h"
#include "eave/random.h"
#include "test/communicator/told.h"
#include "test/communicator/worker.h"
#include "test/transport/ranks.h"
#include "transport/decorators/forwarding.h"

namespace eave {

#if defined(__SANITIZE_THREAD__)
constexpr int kTimings = 100;
#else
constexpr int kTimings = 1000;
#endif

struct Ended {
  std::vector<std::vector<float>> x;
  std::vector<float> center;
  std::string order;
};

// A transport whose request_length() is `values`. Without --shard-bytes, methods cut shards of at most this length.
class LinksFor final : public ForwardingTransport {
 public:
  LinksFor(Transport& inner, std::size_t values) : ForwardingTransport(inner), values_(values) {}
  std::size_t request_length() const override { return values_; }

 private:
  const std::size_t values_;
};

// Trains `problem` on `ranks` threads, and returns where all workers and the center ended, with the order of exchanges.
// Each rank sleeps less than 30 us before about half of its steps. The seed `timing` determines these pauses.
inline Ended run_freely(const std::string& communicator, int ranks, const Given& given, const Problem& problem,
                        std::uint64_t timing, std::size_t request_length = std::size_t{64} << 10) {
  Ended ended;
  on_ranks({"threads", ranks}, [&](Transport& threads) {
    LinksFor transport(threads, request_length);
    BegunWorker worker(transport, communicator, given, problem);
    RandomStream random({.seed = timing, .purpose = Purpose::kTest}, static_cast<std::uint64_t>(transport.rank()));
    for (std::int64_t step = 0; step < problem.steps; ++step) {
      if (random.next_word() % 2 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random.next_word() % 30));
      }
      worker.step();
    }
    worker.communicator().finish();
    const std::vector<std::vector<float>> x = gather(transport, worker.x);
    const std::vector<float> center = worker.consensus();
    if (transport.rank() == 0) ended = {x, center, worker.communicator().report().order};
  });
  return ended;
}

// The seconds that each of three ranks takes for `steps` steps. Computing one takes 1 ms, on the last rank 50 ms; the
// method's own time comes on top.
inline std::vector<double> seconds_with_a_slow_rank(const std::string& communicator, const Given& given, int steps) {
  std::vector<double> seconds(3);  // each rank writes its own
  on_ranks({"threads", 3}, [&](Transport& transport) {
    BegunWorker worker(transport, communicator, given, {.steps = steps});
    const auto start = std::chrono::steady_clock::now();
    for (int step = 0; step < steps; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(transport.rank() == 2 ? 50 : 1));
      worker.step();
    }
    seconds[me(transport)] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    worker.communicator().finish();
  });
  return seconds;
}

// A temporary file with `content`, for --replay. The destructor deletes it.
class OrderFile {
 public:
  explicit OrderFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("eave-order-" + std::to_string(::getpid()) + "-" +
               std::to_string(reinterpret_cast<std::uintptr_t>(this)) + ".order")) {
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~OrderFile() { std::filesystem::remove(path_); }
  OrderFile(const OrderFile&) = delete;
  OrderFile& operator=(const OrderFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Runs freely, and again with `replay`ed exchanges and another timing. Expects the same bits. Returns whether a third
// run, which is free, ends with another center.
inline bool replays_and_differs_when_free(const std::string& communicator, const Given& given, const Problem& problem,
                                          std::uint64_t timing) {
  constexpr int kRanks = 4;
  const Ended free = run_freely(communicator, kRanks, given, problem, timing);
  const OrderFile file(free.order);
  const Ended replayed =
      run_freely(communicator, kRanks, with(given, {{"replay", file.path()}}), problem, timing + 100);
  EXPECT_EQ(replayed.x, free.x) << communicator;
  EXPECT_EQ(replayed.center, free.center) << communicator;
  EXPECT_EQ(replayed.order, free.order) << communicator;
  return run_freely(communicator, kRanks, given, problem, timing + 200).center != free.center;
}

// Expects that each worker exchanged `each` times with each shard, according to `order` (a run's report().order).
inline void expect_each_exchange_once(const std::string& order, int workers, std::int64_t each) {
  const OrderFile file(order);
  const ExchangeLog log = read_exchange_log(file.path());
  EXPECT_EQ(log.exchanges, each * workers);
  for (std::int64_t shard = 0; shard < log.shards; ++shard) {
    std::map<int, std::int64_t> counts;
    for (std::int64_t i = 0; i < log.exchanges; ++i)
      ++counts[log.order[static_cast<std::size_t>(shard * log.exchanges + i)]];
    for (int worker = 0; worker < workers; ++worker) EXPECT_EQ(counts[worker], each) << "shard " << shard;
  }
}

}  // namespace eave
