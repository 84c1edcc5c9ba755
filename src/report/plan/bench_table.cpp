#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "eave/check.h"
#include "report/plan/plan_network.h"

namespace eave {
namespace {

constexpr std::size_t kMostLines = 10000;

struct SumTime {
  double bytes = 0, seconds = 0;
};

[[noreturn]] void refuse_bench(const std::filesystem::path& file, const std::string& why) {
  throw Error(ExitCode::kBadData, file.string() + ": " + why +
                                      "; expected what 'mpirun -np P eave bench-comm' prints, as in bench-comm > FILE");
}

// Reads "# allreduce over mpi, 4 ranks on 2 hosts, …". The transport's name may have blanks and commas.
bool read_heading(const std::string& line, BenchNetwork& network) {
  const std::size_t at = line.find(" rank");
  const std::size_t comma = line.rfind(", ", at);
  if (!line.starts_with("# allreduce over ") || at == std::string::npos || comma == std::string::npos) return false;
  return std::sscanf(line.c_str() + comma, ", %d %*s on %d host", &network.ranks, &network.hosts) == 2;
}

bool read_time(const std::string& line, SumTime& time) {
  std::istringstream words(line);
  std::string count, type, reduction, root;
  double microseconds = 0;
  if (!(words >> time.bytes >> count >> type >> reduction >> root >> microseconds)) return false;
  time.seconds = 1e-6 * microseconds;
  return std::isfinite(time.bytes) && std::isfinite(time.seconds) && time.bytes > 0 && time.seconds > 0;
}

}  // namespace

BenchNetwork read_bench_table(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file))
    throw Error(ExitCode::kInputMissing, file.string() + ": cannot be read; give a file that eave bench-comm printed");
  BenchNetwork network;
  std::vector<SumTime> times;
  std::size_t lines = 0;
  for (std::string line; std::getline(stream, line) && ++lines < kMostLines;) {
    if (read_heading(line, network) || line.empty() || line.front() == '#') continue;
    if (!read_time(line, times.emplace_back()))
      refuse_bench(file, "line " + std::to_string(lines) + " is no row of a table");
  }
  if (network.ranks == 0) refuse_bench(file, "has no line '# allreduce over …'");
  if (network.ranks < 2 || network.hosts < 1 || network.hosts > network.ranks)
    refuse_bench(file, "one rank sends nothing");
  if (times.size() < 2 || times.back().bytes <= times.front().bytes) refuse_bench(file, "has fewer than two sizes");
  const SumTime &least = times.front(), &most = times.back();
  if (most.seconds <= least.seconds)
    refuse_bench(file, "its largest size took no longer than its smallest: no rate follows");
  const double parts = network.hosts > 1 ? network.hosts : network.ranks;
  network.bytes_per_second = 2 * (parts - 1) / parts * most.bytes / (most.seconds - least.seconds);
  if (network.hosts > 1) network.delay_seconds = least.seconds / 2;
  return network;
}

}  // namespace eave
