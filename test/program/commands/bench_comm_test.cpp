// Tests the table of `eave bench-comm`.
#include <gtest/gtest.h>

#include <sstream>

#include "test/program/expectations.h"

namespace eave {
namespace {

struct Row {
  double bytes = 0, count = 0;
  std::string type, reduction;
  int root = 0;
  double microseconds = 0, algorithm = 0, bus = 0;
  long wrong = -1;
};

std::vector<Row> rows_of(const std::string& table) {
  std::vector<Row> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    Row& row = rows.emplace_back();
    std::istringstream words(line);
    words >> row.bytes >> row.count >> row.type >> row.reduction >> row.root >> row.microseconds >> row.algorithm >>
        row.bus >> row.wrong;
    EXPECT_TRUE(words) << line;
  }
  return rows;
}

void expect_table(const Ended& ended, int ranks) {
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  const std::vector<Row> rows = rows_of(ended.output);
  ASSERT_EQ(rows.size(), 3u) << ended.output;
  double bytes = 1000;
  for (const Row& row : rows) {
    EXPECT_EQ(row.bytes, bytes);
    EXPECT_EQ(row.count, bytes / 4);
    EXPECT_EQ(row.type + " " + row.reduction, "float sum");
    EXPECT_EQ(row.root, -1);
    EXPECT_NEAR(row.algorithm, row.bytes / row.microseconds * 1e-3, 1e-4 + row.algorithm * 0.1 / row.microseconds);
    EXPECT_NEAR(row.bus, row.algorithm * 2 * (ranks - 1) / ranks, 2e-4);
    EXPECT_EQ(row.wrong, 0);
    bytes *= 100;
  }
  expect_parts(ended.output, {"# Out of bounds values : 0 OK\n"});
}

const std::string kSizes = " --min-bytes 1kB --max-bytes 99MB --factor 100 --iterations 2 --warmup 1";

TEST(BenchComm, prints_a_checked_row_for_each_size_once_for_all_ranks) {
  const Place place;
  for (const std::string operation : {"allreduce", "easgd", "request"}) {
    SCOPED_TRACE(operation);
    const std::string words = "bench-comm --operation " + operation + kSizes;
    expect_table(place.eave(words), 1);
    expect_table(place.eave(words + " --transport threads --ranks 3"), 3);
    if (has_mpirun()) expect_table(place.eave(words, {2}), 2);
  }
}

// An all-reduce of M = 1 MiB sends 2(p-1)/p M bytes per rank, here at 12.5 MB/s.
TEST(BenchComm, over_a_shaped_link_takes_at_least_the_link_s_time) {
  const Place place;
  for (const std::string operation : {"allreduce", "easgd"}) {
    const Ended ended =
        expect_end(0, place.eave("bench-comm --operation " + operation +
                                 " --transport threads --ranks 4 --shape-rate 100mbit --min-bytes 1MiB --max-bytes "
                                 "1MiB --iterations 2"));
    ASSERT_EQ(rows_of(ended.output).size(), 1u);
    EXPECT_GE(rows_of(ended.output)[0].microseconds, 1.5 * 1048576 / 12.5) << ended.output;
  }
  EXPECT_TRUE(place.eave("bench-comm --max-bytes 1k --shape-rate 1gbit").says("one rank exchanges nothing"));
}

}  // namespace
}  // namespace eave
