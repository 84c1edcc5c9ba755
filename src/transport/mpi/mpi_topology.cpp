#include "transport/mpi/mpi_topology.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

#include "transport/mpi/mpi_library.h"

namespace eave {
namespace {

constexpr double kSlowLink = 200e6;        // bytes per second
constexpr std::size_t kProbe = 32 * 1024;  // values
constexpr int kProbes = 3;                 // the first one opens connections
constexpr int kMostRanks = 256;

// Collective among the ranks of a host. The first of them makes the memory.
std::unique_ptr<SharedMemory> share(MPI_Comm host, std::size_t bytes) {
  int rank = 0;
  EAVE_MPI(MPI_Comm_rank(host, &rank));
  std::array<char, 64> address{};
  std::unique_ptr<SharedMemory> memory;
  if (rank == 0) memory = SharedMemory::create(bytes);
  if (memory) memory->address().copy(address.data(), address.size() - 1);
  EAVE_MPI(MPI_Bcast(address.data(), static_cast<int>(address.size()), MPI_CHAR, 0, host));
  if (rank != 0) memory = SharedMemory::open(address.data(), bytes);
  const int has = memory ? 1 : 0;
  int all_have = 0;
  EAVE_MPI(MPI_Allreduce(&has, &all_have, 1, MPI_INT, MPI_MIN, host));
  return all_have ? std::move(memory) : nullptr;
}

}  // namespace

std::vector<int> hosts_of_ranks(MPI_Comm communicator) {
  int rank = 0, size = 0, lowest = 0;
  EAVE_MPI(MPI_Comm_rank(communicator, &rank));
  EAVE_MPI(MPI_Comm_size(communicator, &size));
  MPI_Comm host = MPI_COMM_NULL;
  EAVE_MPI(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host));
  EAVE_MPI(MPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, host));
  EAVE_MPI(MPI_Comm_free(&host));
  std::vector<int> hosts(static_cast<std::size_t>(size));
  EAVE_MPI(MPI_Allgather(&lowest, 1, MPI_INT, hosts.data(), 1, MPI_INT, communicator));
  return hosts;
}

// Just below 64 KiB: up to there, Open MPI sends over TCP at once. Longer messages, sent both ways, took twice the
// time. More bytes in flight were not faster, and need memory.
MpiChunkSizes fast_link_chunks() { return {15 * 1024, std::size_t{1} << 20, 64 * 1024}; }

// Measured with sums of 1.4 and 5.7 MB; times are multiples of the link's limit:
//   8 hosts, 100 Mbit/s   long parts 1.6 and 1.5, short parts 1.2 and 1.1. Long parts overflowed the queue of a rank's
//                         own link; what was lost was sent again, late.
//   2 hosts, 1 Gbit/s     long parts 1.9, short parts 1.4. Nothing was lost; the reason is not known.
//   faster links          short parts take twice as long as long parts.
//
// Requests of 32 KiB fill a link of 100 Mbit/s, and requests of 256 KiB leave a tenth of it idle. With short requests
// less waits in queues, so a rank that has its reply asks again sooner. Within a host they cost 8 % of a short step.
MpiChunkSizes slow_link_chunks() { return {2 * 1024, std::size_t{128} << 10, 8 * 1024}; }

MpiChunkSizes agree_on_chunk_sizes(MpiMessages& messages, int hosts, const std::function<void(Slice)>& sum) {
  const int ranks = messages.size(), sharing = (ranks + hosts - 1) / hosts;
  if (hosts == 1 || ranks > kMostRanks) return fast_link_chunks();
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
  return bytes / longest < kSlowLink ? slow_link_chunks() : fast_link_chunks();
}

std::unique_ptr<SharedMemory> share_memory_of_host(MPI_Comm communicator, int host, std::size_t bytes) {
  MPI_Comm of_host = MPI_COMM_NULL;
  int rank = 0, size = 0;
  EAVE_MPI(MPI_Comm_rank(communicator, &rank));
  EAVE_MPI(MPI_Comm_split(communicator, host, rank, &of_host));
  EAVE_MPI(MPI_Comm_set_errhandler(of_host, MPI_ERRORS_RETURN));
  EAVE_MPI(MPI_Comm_size(of_host, &size));
  std::unique_ptr<SharedMemory> memory = size > 1 ? share(of_host, bytes) : nullptr;
  EAVE_MPI(MPI_Comm_free(&of_host));
  return memory;
}

}  // namespace eave
