#include "app/main/machine.h"

#include <gtest/gtest.h>

#include "test/expectations.h"

namespace eave {
namespace {

TEST(Machine, core_lists_are_counted) {
  EXPECT_EQ(core_count("0"), 1);
  EXPECT_EQ(core_count("0-3,8"), 5);
  EXPECT_EQ(core_count("0-3,2-4"), 5);
  EXPECT_EQ(core_count("?"), 0);
  EXPECT_GE(core_count(core_binding()), 1);
}

TEST(Machine, oversubscription_is_counted_per_host_over_all_bindings) {
  const RankFacts a0{"a", "cpu", "0", {}}, a1{"a", "cpu", "1", {}}, a01{"a", "cpu", "0-1", {}},
      b{"b", "cpu", "0-1", {}};
  EXPECT_EQ(describe_oversubscription({a0, a1}, 1), "");
  EXPECT_EQ(describe_oversubscription({a01, a01, b, b}, 1), "");
  EXPECT_NE(describe_oversubscription({a0, a0}, 1), "");
  EXPECT_NE(describe_oversubscription({a0, a1}, 2), "");
  EXPECT_EQ(describe_oversubscription({a01, a01, a01, b}, 1).find("host b"), std::string::npos);
}

TEST(Machine, a_quota_of_cores_counts_as_that_many_cores) {
  RankFacts rank{"a", "cpu", "0-3", {}};
  rank.limits.cores = 1.5;
  EXPECT_EQ(describe_oversubscription({rank}, 1), "");
  const std::string text = describe_oversubscription({rank, rank}, 1);
  expect_parts(text, {"2 ranks with 1 thread each share 1.5 cores that its control group allows"});
  rank.limits.cores = 0.5;
  expect_parts(describe_oversubscription({rank}, 1), {"1 rank with 1 thread has 0.5 cores"});
}

TEST(Machine, the_table_of_ranks_says_what_a_control_group_allows) {
  RankFacts rank{"a", "cpu", "0-3", {}};
  EXPECT_EQ(rank_table({rank}).find("control group"), std::string::npos);
  rank.limits = {300 << 20, -1, 0.5};
  expect_parts(rank_table({rank}), {"its control group allows 0.5 cores and 300 MiB of memory"});
}

TEST(Machine, a_binding_by_openmp_is_named) {
  const RankFacts a0{"a", "cpu", "0", {}};
  for (const char* value : {"true", "SPREAD", "close"}) {
    ::setenv("OMP_PROC_BIND", value, 1);
    EXPECT_NE(describe_oversubscription({a0, a0}, 1).find("OMP_PROC_BIND"), std::string::npos) << value;
  }
  ::setenv("OMP_PROC_BIND", "false", 1);
  EXPECT_EQ(describe_oversubscription({a0, a0}, 1).find("OMP_PROC_BIND"), std::string::npos);
  ::unsetenv("OMP_PROC_BIND");
}

}  // namespace
}  // namespace eave
