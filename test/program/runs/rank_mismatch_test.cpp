// If one rank has wrong input, or ranks have different input, all ranks end.
#include <gtest/gtest.h>

#include <tuple>

#include "test/program/expectations.h"
#include "test/program/small_datasets.h"

namespace eave {
namespace {

// mpirun can start each rank with its own command line and environment.
TEST(BadInput, on_one_rank_ends_all) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  const std::string good = program() + " " + quick("");
  for (const char* run : {"first", "second"}) place.write(run + std::string("/metrics.jsonl"), "of an earlier run");
  write_fashion_mnist(place, "data", [](const std::string&, std::string&) {});
  const std::string read = program() + " train --max-steps 1 --progress off --overwrite --data-dir ";
  const std::vector<std::tuple<std::string, std::string, Case>> jobs = {
      {read + "data --run-dir first",
       read + "nowhere --run-dir first",
       {"", 66, {"rank 1 on ", "no directory nowhere"}}},
      {read + "nowhere --run-dir second",
       read + "data --run-dir second",
       {"", 66, {"rank 0 on ", "no directory nowhere"}}},
      {good, good + " --bacth 3", {"", 64, {"rank 1 on ", "--bacth"}}},
      {"env EAVE_LR=0.1 " + good, good, {"", 78, {"--lr is 0.1 on rank 0, 0.05 on rank 1"}}},
      {good, good + " --batch 4", {"", 78, {"--batch is 8 on rank 0, 4 on rank 1"}}},
      {good, good + " --communicator easgd", {"", 78, {"--communicator is allreduce on rank 0, easgd on rank 1"}}},
      {good + " --transport mpi-flat",
       good + " --transport mpi",
       {"", 78, {"--transport is mpi-flat on rank 0, mpi on rank 1"}}},
      {good + " --transport mpi", good + " --transport mpi-flat", {"", 78, {"mpi on rank 0, mpi-flat on rank 1"}}},
      {good + " --transport mpi-flat", good + " --bacth 3", {"", 64, {"rank 1 on ", "--bacth"}}},
      {good + " --bacth 3", good + " --transport mpi-flat", {"", 64, {"rank 0 on ", "--bacth"}}}};
  Runs runs;
  for (const auto& [first, second, wrong] : jobs) {
    const std::string command = "timeout -k 5 60 " + mpirun(1) + " " + first + " : -np 1 " + second;
    runs.start(wrong, command, [command, &place] { return place.run(command); });
  }
  runs.check(expect_one_message);
  for (const char* run : {"first", "second"}) {
    EXPECT_EQ(place.read(run + std::string("/metrics.jsonl")), "of an earlier run")
        << "replaced although a rank could not start";
  }
}

}  // namespace
}  // namespace eave
