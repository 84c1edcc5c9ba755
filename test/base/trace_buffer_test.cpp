#include "base/trace_buffer.h"

#include <gtest/gtest.h>

namespace eave {
namespace {

std::vector<std::int64_t> numbers(const std::vector<TraceSpan>& spans) {
  std::vector<std::int64_t> numbers;
  for (const TraceSpan& span : spans) numbers.push_back(span.number);
  return numbers;
}

TEST(TraceBuffer, keeps_the_first_and_the_last_in_order_and_counts_what_lay_between) {
  using Numbers = std::vector<std::int64_t>;
  TraceBuffer buffer(6);
  for (std::int64_t i = 1; i <= 5; ++i) buffer.add({i, i, i});
  EXPECT_EQ(numbers(buffer.first()), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers(buffer.last()), (Numbers{4, 5}));
  EXPECT_EQ(buffer.left_out(), 0);
  for (std::int64_t i = 6; i <= 11; ++i) buffer.add({i, i, i});
  EXPECT_EQ(numbers(buffer.first()), (Numbers{1, 2, 3}));
  EXPECT_EQ(numbers(buffer.last()), (Numbers{9, 10, 11}));
  EXPECT_EQ(buffer.left_out(), 5);
}

}  // namespace
}  // namespace eave
