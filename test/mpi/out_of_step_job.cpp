// A program for mpirun: after some exchanges, one rank calls another operation than the other ranks.
//     out_of_step_job SEED DIRECTORY
#include <cstdlib>
#include <vector>

#include "app/run/rank_guard.h"
#include "eave/job.h"
#include "eave/random.h"
#include "eave/transport.h"

namespace {

using namespace eave;

void exchange(Transport& transport, std::uint32_t what, std::vector<float>& values) {
  const Slice all(values);
  switch (what) {
    case 0:
      transport.all_reduce_sum(all).wait();
      return;
    case 1:
      transport.all_reduce_sum(all.first(values.size() / 3)).wait();
      return;
    case 2:
      transport.broadcast(all, 0).wait();
      return;
    case 3:
      transport.broadcast(all, transport.size() - 1).wait();
      return;
    case 4:
      transport.all_gather("some text");
      return;
    default:
      return;  // calls nothing
  }
}

void go_out_of_step(Transport& transport, const OptionValues& values, RandomStream& random) {
  const auto below = [&](std::uint32_t limit) { return static_cast<std::uint32_t>(random.uniform() * limit); };
  RankGuard guard(transport, values);
  std::vector<float> numbers(1 + below(40000));
  const std::uint32_t before = below(200), usual = below(5), other = (usual + 1 + below(5)) % 6;
  const int odd = static_cast<int>(below(static_cast<std::uint32_t>(transport.size())));
  try {
    for (std::uint32_t k = 0; k < before; ++k) exchange(transport, usual, numbers);
    exchange(transport, transport.rank() == odd ? other : usual, numbers);
    for (std::uint32_t k = 0; k < 3; ++k) transport.broadcast(Slice(numbers).first(1), 0).wait();
    transport.all_gather("the end");
    guard.finish();
  } catch (const Error& error) {
    guard.explain(error);
    throw;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  OptionValues values;
  for (const OptionSpec& option : guard_options()) values.declare(option);
  values.declare({.name = "run-dir", .default_text = argv[2], .help = ""});
  values.declare({.name = "checkpoint", .default_text = "off", .help = ""});
  values.declare({.name = "communicator", .default_text = "none", .help = ""});  // no rank only keeps a center
  return find_kind(transport_kinds(), "mpi").run(0, [&](Transport& transport) {
    RandomStream random({.seed = static_cast<std::uint64_t>(std::atoi(argv[1]))}, 0);
    go_out_of_step(transport, values, random);
  });
}
