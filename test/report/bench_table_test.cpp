// Tests which rate and delay follow from a table of `eave bench-comm`.
#include <gtest/gtest.h>

#include "report/plan/plan_network.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

const std::string kHeading = "# allreduce over mpi, 4 ranks on 2 hosts, values in the memory of cpu\n#\n";

BenchNetwork read_bench(const std::string& text) {
  const MadeRuns place;
  place.write("table", text);
  return read_bench_table(place.path() / "table");
}

TEST(BenchTable, gives_rate_and_delay_of_links) {
  const BenchNetwork network = read_bench(
      kHeading + "1024 256 float sum -1 200.0 0.1 0.1 0\n1000000 250000 float sum -1 8200.0 0.1 0.1 0\n# Avg\n");
  EXPECT_EQ(network.hosts, 2);
  EXPECT_DOUBLE_EQ(network.bytes_per_second, 1e6 / 8e-3);
  EXPECT_DOUBLE_EQ(network.delay_seconds.value(), 1e-4);
}

TEST(BenchTable, gives_the_rate_within_a_host) {
  const BenchNetwork network = read_bench(
      "# allreduce over threads, 4 ranks on 1 host, values in\n4 1 float sum -1 10 0 0 0\n1000000 250000 float sum -1 "
      "1010 0 0 0\n");
  EXPECT_DOUBLE_EQ(network.bytes_per_second, 1.5e6 / 1e-3);
  EXPECT_FALSE(network.delay_seconds.has_value());
}

TEST(BenchTable, refuses_other_files) {
  const auto expect_bad = [](const std::string& text, const std::string& says) {
    expect_error(ExitCode::kBadData, says, [&] { read_bench(text); });
  };
  expect_bad("", "has no line");
  expect_bad("hello\n", "line 1 is no row");
  expect_bad(kHeading, "fewer than two sizes");
  expect_bad(kHeading + "1024 256 float sum -1 nan 0 0 0\n", "is no row");
  expect_bad("# allreduce over mpi, 1 rank on 1 host, values\n", "one rank sends nothing");
  expect_bad(kHeading + "4 1 float sum -1 10 0 0 0\n8 2 float sum -1 10 0 0 0\n", "no rate follows");
  expect_error(ExitCode::kInputMissing, "cannot be read", [] { read_bench_table("/none/table"); });
}

}  // namespace
}  // namespace eave
