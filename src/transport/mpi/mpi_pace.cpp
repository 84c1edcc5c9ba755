#include "transport/mpi/mpi_pace.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "transport/mpi/mpi_check.h"

namespace eave {
namespace {

constexpr double kSlowLink = 200e6;        // bytes per second
constexpr std::size_t kProbe = 32 * 1024;  // values
constexpr int kProbes = 3;                 // the first one opens connections
constexpr int kMostRanks = 256;

}  // namespace

// Just below 64 KiB: up to there, Open MPI sends over TCP at once. Longer messages, sent both ways, took twice the
// time. More bytes in flight were not faster, and need memory.
MpiPace long_pace() { return {15 * 1024, std::size_t{1} << 20, 64 * 1024}; }

// Measured with sums of 1.4 and 5.7 MB; times are multiples of the link's limit:
//   8 hosts, 100 Mbit/s   long parts 1.6 and 1.5, short parts 1.2 and 1.1. Long parts overflowed the queue of a rank's
//                         own link; what was lost was sent again, late.
//   2 hosts, 1 Gbit/s     long parts 1.9, short parts 1.4. Nothing was lost; the reason is not known.
//   faster links          short parts take twice as long as long parts.
//
// Requests of 32 KiB fill a link of 100 Mbit/s, and requests of 256 KiB leave a tenth of it idle. With short requests
// less waits in queues, so a rank that has its reply asks again sooner. Within a host they cost 8 % of a short step.
MpiPace short_pace() { return {2 * 1024, std::size_t{128} << 10, 8 * 1024}; }

MpiPace agree_on_pace(MpiMessages& messages, int hosts, const std::function<void(Slice)>& sum) {
  const int ranks = messages.size(), sharing = (ranks + hosts - 1) / hosts;
  if (hosts == 1 || ranks > kMostRanks) return long_pace();
  std::vector<float> values(kProbe);
  double shortest = std::numeric_limits<double>::infinity(), longest = 0;
  for (int probe = 0; probe < kProbes; ++probe) {
    const auto start = std::chrono::steady_clock::now();
    sum(values);
    shortest = std::min(shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const std::lock_guard lock(messages.in_mpi());
  EAVE_MPI(MPI_Allreduce(&shortest, &longest, 1, MPI_DOUBLE, MPI_MAX, messages.communicator()));
  const double bytes = 2.0 * sharing * (ranks - sharing) / ranks * kProbe * sizeof(float);
  return bytes / longest < kSlowLink ? short_pace() : long_pace();
}

}  // namespace eave
