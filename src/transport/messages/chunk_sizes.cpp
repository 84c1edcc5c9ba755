#include "transport/messages/chunk_sizes.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

namespace eave {
namespace {

constexpr double kMediumLink = 150e6;      // bytes per second; 1 Gbit/s are 119 to 126 MB/s in long sums
constexpr double kSlowLink = 60e6;         // a busy host alone does not make a fast link so slow
constexpr std::size_t kShort = 32 * 1024;  // values of a sum that is timed
constexpr std::size_t kLong = 256 * 1024;  // so many do not fit into the burst that a limited link lets pass
constexpr int kProbes = 3;                 // the first one opens connections
constexpr int kMostRanks = 256;

}  // namespace

// Just below 64 KiB: up to there, Open MPI sends over TCP at once. Longer messages, sent both ways, took twice the
// time. More bytes in flight were not faster, and need memory. Short parts took twice as long on such links.
ChunkSizes fast_link_chunks() { return {15 * 1024, std::size_t{1} << 20, 64 * 1024, false}; }

// Measured with sums of 1.4 and 5.6 MB at 100 Mbit/s: with 8 hosts, medium parts took 1.02 to 1.07 times the time of
// short ones, and long parts 1.16 to 1.27. Long parts overflowed the queue of a rank's own link; what was lost was sent
// again, late.
//
// Requests of 32 KiB fill a link of 100 Mbit/s, and requests of 256 KiB leave a tenth of it idle. With short requests
// less waits in queues, so a rank that has its reply asks again sooner. Within a host they cost 8 % of a short step.
ChunkSizes slow_link_chunks() { return {2 * 1024, std::size_t{128} << 10, 8 * 1024, true}; }

// At 1 Gbit/s a sum takes as long with short parts, but more processor time, which 8 hosts on two cores lack: there 5.6
// MB took 112 ms with short parts and 102 with these.
ChunkSizes medium_link_chunks() { return {8 * 1024, std::size_t{512} << 10, 8 * 1024, true}; }

ChunkSizes agree_on_chunk_sizes(int ranks, int hosts, const std::function<void(Slice)>& sum,
                                const std::function<double(double)>& largest) {
  const int sharing = (ranks + hosts - 1) / hosts;
  if (hosts == 1 || ranks > kMostRanks) return fast_link_chunks();
  std::vector<float> values(kLong);
  const auto bytes_per_second = [&](std::size_t count) {
    double shortest = std::numeric_limits<double>::infinity();
    for (int probe = 0; probe < kProbes; ++probe) {
      const auto start = std::chrono::steady_clock::now();
      sum(Slice(values).first(count));
      shortest = std::min(shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return 2.0 * sharing * (ranks - sharing) / ranks * static_cast<double>(count * sizeof(float)) / largest(shortest);
  };
  if (bytes_per_second(kShort) < kSlowLink) return slow_link_chunks();
  return bytes_per_second(kLong) < kMediumLink ? medium_link_chunks() : fast_link_chunks();
}

}  // namespace eave
