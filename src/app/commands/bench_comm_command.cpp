// Implements `eave bench-comm`: times operations between ranks and checks their results.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "app/commands/bench_comm_operations.h"
#include "app/main/command_line.h"
#include "app/main/commands.h"
#include "app/main/devices.h"
#include "app/main/launch.h"
#include "app/main/rank_consistency.h"
#include "app/options/shared_options.h"
#include "app/run/run_settings.h"
#include "base/host.h"
#include "base/options/number_text.h"
#include "base/options/option_values.h"
#include "base/options/quantities.h"
#include "base/printable.h"
#include "eave/agreement.h"
#include "eave/check.h"

namespace eave {

CommandLine bench_comm_command_line() {
  CommandLine line(
      "usage: [mpirun -np P] eave bench-comm [options]\n\nTimes exchanges between ranks, checks every result, and "
      "prints the columns of nccl-tests.");
  line.add_family("Exchange", {"operation", OptionType::kText, "allreduce", "exchange to time"},
                  members_from(comm_operations()));
  line.add_group("Sizes and repetitions",
                 {{"min-bytes", OptionType::kBytes, "1KiB", "smallest size: bytes of float32 values on each rank"},
                  {"max-bytes", OptionType::kBytes, "16MiB", "upper limit of the sizes"},
                  {"factor", OptionType::kInteger, "4", "factor from one size to the next"},
                  {"iterations", OptionType::kInteger, "20", "timed iterations of each size; their median is shown"},
                  {"warmup", OptionType::kInteger, "3", "untimed iterations of each size, before the timed ones"}});
  add_transport(line);
  line.add_group("Slow networks, for experiments", link_options());
  line.add_group("Device", placement_options());
  return line;
}

namespace {

struct BenchCommRequest {
  std::vector<std::size_t> counts;  // numbers of values
  int iterations = 1;
  int warmup = 0;
  const CommOperation* operation = nullptr;
  std::string slow_network;  // "" if links are not shaped
};

BenchCommRequest read_bench_comm_request(const OptionValues& values) {
  constexpr std::int64_t kValue = sizeof(float);
  const std::int64_t least = values.bytes("min-bytes"), most = values.bytes("max-bytes");
  const std::int64_t factor = values.integer("factor", 2);
  if (least < kValue) refuse_option(values, "min-bytes", "expected at least 4, one value");
  if (most < least) refuse_option(values, "max-bytes", "is less than --min-bytes " + values.text("min-bytes"));
  if (values.given("factor") && most / factor < least)
    refuse_option(values, "factor", "has no effect: --max-bytes allows no second size");
  BenchCommRequest request;
  for (std::int64_t bytes = least; bytes <= most; bytes *= factor) {
    request.counts.push_back(static_cast<std::size_t>(bytes / kValue));
    if (bytes > most / factor) break;
  }
  request.iterations = static_cast<int>(values.integer("iterations", 1, 1 << 20));
  request.warmup = static_cast<int>(values.integer("warmup", 0, 1 << 20));
  request.slow_network = describe_shape(values);
  request.operation =
      &*std::ranges::find(comm_operations(), values.text("operation"), [](const auto& each) { return each.name; });
  return request;
}

// The ratio of busbw to algbw: how often the bytes of one rank's values pass its link (nccl-tests, PERFORMANCE.md).
double bus_factor(int ranks) { return 2.0 * (ranks - 1) / ranks; }

void print_header(const BenchCommRequest& request, Transport& transport, const Device& device) {
  const std::vector<std::string> names = transport.all_gather(host_name());
  if (transport.rank() != 0) return;
  const std::size_t hosts = std::set<std::string>(names.begin(), names.end()).size();
  const int ranks = transport.size();
  std::printf("# %s over %s, %d rank%s on %zu host%s, values in the memory of %s\n", request.operation->name.c_str(),
              printable(transport.name()).c_str(), ranks, ranks == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s",
              printable(device.name()).c_str());
  if (!request.slow_network.empty()) std::printf("# slow network: %s\n", printable(request.slow_network).c_str());
  std::printf(
      "# in-place columns only: no operation here is out of place\n"
      "# time: median of %s after %d, each from a common start until its slowest rank is done\n"
      "# busbw = algbw x 2(p-1)/p = algbw x %.3f\n"
      "#\n"
      "#                                                               in-place\n"
      "#       size         count      type   redop    root        time     algbw     busbw  #wrong\n"
      "#        (B)    (elements)                                  (us)    (GB/s)    (GB/s)\n",
      count_text(request.iterations, "iteration").c_str(), request.warmup, bus_factor(ranks));
}

struct Totals {
  std::int64_t wrong = 0;
  double bus_gigabytes_per_second = 0;
};

void add_row(const BenchCommRequest& request, std::size_t count, const CommTiming& timing, Transport& transport,
             Totals& totals) {
  const double bytes = static_cast<double>(count * sizeof(float));
  const double algorithm = timing.seconds > 0 ? bytes / timing.seconds * 1e-9 : 0;
  const double bus = algorithm * bus_factor(transport.size());
  totals.wrong += timing.wrong;
  totals.bus_gigabytes_per_second += bus / static_cast<double>(request.counts.size());
  if (transport.rank() != 0) return;
  std::printf("%12.0f  %12zu  %8s  %6s  %6d  %10s  %8s  %8s  %6lld\n", bytes, count, "float",
              request.operation->reduction.c_str(), -1, decimal_text(1e6 * timing.seconds, 1).c_str(),
              decimal_text(algorithm, 4).c_str(), decimal_text(bus, 4).c_str(), static_cast<long long>(timing.wrong));
  std::fflush(stdout);
}

void print_totals(const Totals& totals) {
  std::printf("# Out of bounds values : %lld %s\n# Avg bus bandwidth    : %s\n", static_cast<long long>(totals.wrong),
              totals.wrong == 0 ? "OK" : "FAILED", decimal_text(totals.bus_gigabytes_per_second, 4).c_str());
  std::fflush(stdout);
}

void time_sizes(const BenchCommRequest& request, Transport& transport, Device& device) {
  print_header(request, transport, device);
  if (transport.rank() == 0) print_warning(describe_useless_link(transport, ExchangePattern::kBlockingSums));
  Totals totals;
  for (const std::size_t count : request.counts) {
    const std::unique_ptr<CommTrial> trial = request.operation->make(transport, device, count);
    add_row(request, count, time_trial(transport, *trial, request.warmup, request.iterations), transport, totals);
    trial->finish();
  }
  if (transport.rank() == 0) print_totals(totals);
  if (totals.wrong > 0) {
    throw AgreedError(
        ExitCode::kInternal,
        "bench-comm: " + (totals.wrong == 1 ? "1 result is" : std::to_string(totals.wrong) + " results are") +
            " wrong; please report it with the table above");
  }
}

void bench_on(Transport& bare, const CommandLine& line, const OptionValues& values, const BenchCommRequest& request) {
  require_same_start(bare, settings_of_rank("bench-comm", line, values));
  const DevicePlan plan = choose_device(bare, values);
  const std::unique_ptr<Transport> nccl = make_nccl_link(bare, values, plan);
  Transport& link = nccl ? *nccl : bare;
  const std::unique_ptr<Transport> shaped = make_shaped_link(link, values);
  std::unique_ptr<Device> gpu;
  agree(bare, [&] { gpu = open_gpu(plan); });
  Device& device = gpu ? *gpu : cpu_device();
  const Attachment attachment(shaped ? *shaped : link, device);
  time_sizes(request, shaped ? *shaped : link, device);
}

}  // namespace

int bench_comm_command(const std::vector<std::string>& words, const char* const*) {
  const CommandLine line = bench_comm_command_line();
  OptionValues values;
  BenchCommRequest request;
  int ranks = 0;
  const auto read = [&] {
    values = line.parse(words);
    request = read_bench_comm_request(values);
    ranks = ranks_in_process(values);
  };
  return run_command(words, line.help(), read, [&] {
    return run_ranks(values.text("transport"), ranks,
                     [&](Transport& transport) { bench_on(transport, line, values, request); });
  });
}

}  // namespace eave
