// Tests texts of ranks that are in the same function and in different ones.
#include "c/matched_transport.h"

#include <gtest/gtest.h>

#include "eave/agreement.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

using Function = InterfaceCall::Function;

TEST(MatchedTransport, passes_on_texts_of_ranks_in_one_function) {
  on_ranks({"threads", 3}, [](Transport& ranks) {
    MatchedTransport transport(ranks);
    for (const Function function : {Function::kOpen, Function::kStep, Function::kState}) {
      transport.enter(function);
      const std::string mine = std::to_string(transport.rank());
      EXPECT_EQ(transport.all_gather(mine), (std::vector<std::string>{"0", "1", "2"}));
      EXPECT_EQ(transport.broadcast_text(mine), "0");
      EXPECT_EQ(transport.gather("").size(), transport.rank() == 0 ? 3 : 0);
      EXPECT_EQ(transport.scatter({"for 0", "", "for 2"}), transport.rank() == 1 ? "" : "for " + mine);
      EXPECT_EQ(sum_over_ranks(transport, {1, 2}), (std::vector<double>{3, 6}));
    }
  });
}

TEST(MatchedTransport, refuses_texts_of_another_function) {
  on_ranks({"threads", 2}, [](Transport& ranks) {
    MatchedTransport transport(ranks);
    transport.enter(transport.rank() == 0 ? Function::kConsensus : Function::kSum);
    expect_error(ExitCode::kPeerLost, "out of step", [&] { transport.all_gather("256"); });
  });
}

TEST(SumOverRanks, refuses_rows_of_unequal_length_on_all_ranks) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    const std::vector<double> mine(transport.rank() == 0 ? 1 : 2);
    expect_error(ExitCode::kConfiguration, "rank 0 sums 1 number, and rank 1 2",
                 [&] { sum_over_ranks(transport, mine); });
  });
}

}  // namespace
}  // namespace eave
