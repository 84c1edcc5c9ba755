// Averagers that are opened one after the other use the same arrays in shared memory.
#include "c/lent_arrays.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "c/averager.h"
#include "test/transport/ranks.h"
#include "transport/decorators/forwarding.h"

namespace eave {
namespace {

// Lends arrays of its own memory. (Ranks that are threads share no memory in which sums could go on in place.)
class LendingTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  Slice lend(std::size_t size) override { return arrays.emplace_back(size); }
  std::deque<std::vector<float>> arrays;
};

struct Opened {
  Opened(Transport& transport, LentArrays& arrays, std::size_t size = 40)
      : x(size, 1), g(size), averager(transport, "communicator=easgd tau=1 lr=0.1", x, g, {.lent = &arrays}) {}

  void close() {
    for (int t = 0; t < 3; ++t) {
      averager.begin_step(0, 0, 0.1);
      x[0] += 1;
      averager.before_update(0);
      averager.after_update();
    }
    averager.finish();
  }

  std::vector<float> x, g;
  Averager averager;
};

TEST(LentArrays, serve_one_averager_after_the_other) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    LendingTransport lending(transport);
    LentArrays arrays;
    for (int i = 0; i < 20; ++i) Opened(lending, arrays).close();
    EXPECT_EQ(lending.arrays.size(), 1U);
    {
      Opened first(lending, arrays), second(lending, arrays);
      EXPECT_EQ(lending.arrays.size(), 2U);
      first.close();
      second.close();
    }
    Opened(lending, arrays, 41).close();
    EXPECT_EQ(lending.arrays.size(), 3U) << "an array of another size";
  });
}

TEST(LentArrays, are_zeros_again_and_the_same_on_all_ranks) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    LendingTransport lending(transport);
    LentArrays arrays;
    const Slice first = arrays.lend(lending, 3);
    first[1] = 5;
    if (transport.rank() == 0) arrays.give_back(first);
    EXPECT_NE(arrays.lend(lending, 3).data(), first.data()) << "rank 1 still uses it";
    if (transport.rank() == 1) arrays.give_back(first);
    const Slice again = arrays.lend(lending, 3);
    EXPECT_EQ(again.data(), first.data());
    EXPECT_EQ(again[1], 0);
  });
}

}  // namespace
}  // namespace eave
