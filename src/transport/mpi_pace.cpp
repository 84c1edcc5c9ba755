#include "transport/mpi_pace.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "transport/mpi_check.h"

namespace eave {
namespace {

constexpr double kSlowLink = 200e6;        // bytes per second
constexpr std::size_t kProbe = 32 * 1024;  // values
constexpr int kProbes = 3;                 // the first opens connections
constexpr int kMostRanks = 256;

}  // namespace

// Just below the 64 KiB up to which Open MPI sends over TCP at once: longer messages, sent both ways, took twice the
// time. More bytes under way were not faster, and take memory.
MpiPace long_pace() { return {15 * 1024, std::size_t{1} << 20, 64 * 1024}; }

// With eight hosts at 100 Mbit/s what overflowed the queue of a rank's own link was lost, and sent again late. With two
// at 1 Gbit/s nothing was lost, and why short parts are faster there is not known. Sums of 1.4 and 5.7 MB took, as
// multiples of the link's limit, with long parts and with these: 2 hosts, 1 Gbit/s 1.9 and 1.4; 8 hosts, 100
// Mbit/s 1.6, 1.5 and 1.2, 1.1. On faster links they take twice as long as long parts.
//
// Requests of 32 KiB fill a link of 100 Mbit/s where those of 256 KiB leave a tenth of it idle: less waits in queues,
// so who has been served asks again sooner. Within a host they cost 8 % of a short step.
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
