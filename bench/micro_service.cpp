// Compares an elastic exchange of 1 Mi floats, with the center's shards on two ranks, with copying the same floats
// there and back.
//
// micro_service [transport] [rounds]: prints one line of JSON. `mpi` needs mpirun -n 2.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "eave/device.h"
#include "eave/job.h"
#include "eave/transport.h"

namespace eave {
namespace {

constexpr std::size_t kShard = std::size_t{1} << 16, kShards = 16;

// A rank's shards of the center. Answers a request with the elastic exchange, α = 0.45.
class CenterShards final : public Service {
 public:
  CenterShards() : center_(kShard * kShards) {}
  bool answer(int, std::int64_t key, Slice values) override {
    float* center = center_.slice().data() + static_cast<std::size_t>(key) * kShard;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float difference = 0.45f * (values[i] - center[i]);
      values[i] -= difference;
      center[i] += difference;
    }
    return true;
  }

 private:
  Buffer center_;
};

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Requests for all shards. With `half_own` the shards alternate between both ranks; otherwise the other rank owns all.
std::vector<ServiceRequest> requests_of(Slice values, int rank, bool half_own) {
  std::vector<ServiceRequest> requests;
  for (std::size_t k = 0; k < kShards; ++k)
    requests.push_back({half_own ? static_cast<int>(k % 2) : 1 - rank, static_cast<std::int64_t>(k),
                        values.subspan(k * kShard, kShard)});
  return requests;
}

struct Times {
  std::vector<double> copy, half, remote, both;
};

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return 1e3 * times[times.size() / 2];
}

// Times one after the other: a copy in both directions, rank 0's exchanges while rank 1 is idle (with half of the
// shards its own, then with none), and both ranks' exchanges at the same time.
void time_round(Transport& transport, Slice values, Times& times) {
  const bool alone = transport.rank() == 0;
  const auto half = requests_of(values, transport.rank(), true), remote = requests_of(values, transport.rank(), false);
  times.copy.push_back(seconds_of([&] {
    transport.broadcast(values, 0).wait();
    transport.broadcast(values, 1).wait();
  }));
  transport.all_gather({});
  if (alone) times.half.push_back(seconds_of([&] { transport.request(half).wait(); }));
  transport.all_gather({});
  if (alone) times.remote.push_back(seconds_of([&] { transport.request(remote).wait(); }));
  transport.all_gather({});
  times.both.push_back(seconds_of([&] { transport.request(half).wait(); }));
  transport.all_gather({});
}

void compare(Transport& transport, int rounds) {
  if (transport.size() != 2) throw Error(ExitCode::kConfiguration, "micro_service compares two ranks");
  CenterShards center;
  Buffer values(kShard * kShards);
  transport.serve(&center);
  Times times;
  for (int round = 0; round < rounds + 5; ++round) {
    if (round == 5) times = {};  // the first rounds also touch memory for the first time
    time_round(transport, values.slice(), times);
  }
  transport.serve(nullptr);
  if (transport.rank() != 0) return;
  const double copy = median(times.copy);
  std::printf(
      R"({"transport":"%s","copy_ms":%.3f,"exchange_half_own_ms":%.3f,"exchange_ms":%.3f,"both_at_once_ms":%.3f,)",
      transport.name().c_str(), copy, median(times.half), median(times.remote), median(times.both));
  std::printf("\"exchange_half_own_ratio\":%.2f,\"exchange_ratio\":%.2f}\n", median(times.half) / copy,
              median(times.remote) / copy);
}

}  // namespace
}  // namespace eave

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "threads";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 101;
  for (const eave::TransportKind& kind : eave::transport_kinds())
    if (kind.name == name) return kind.run(2, [&](eave::Transport& transport) { eave::compare(transport, rounds); });
  std::fprintf(stderr, "micro_service: no transport is called %s\n", name.c_str());
  return 64;
}
