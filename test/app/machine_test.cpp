#include "app/machine.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace eave
