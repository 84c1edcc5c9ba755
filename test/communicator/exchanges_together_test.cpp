// CommunicatorTraits::exchanges_together and ::exchanges, compared with the calls that each method makes.
#include <gtest/gtest.h>

#include "every_communicator.h"
#include "recording_transport.h"
#include "test/transport/ranks.h"
#include "worker.h"

namespace eave {
namespace {

class Together : public testing::TestWithParam<std::string> {};

// Compares the trait with the calls of 9 steps. A method must have it if and only if all ranks ask the transport for
// the same sums among all ranks, and for nothing else.
TEST_P(Together, is_what_the_trait_says) {
  on_ranks({"threads", 4}, [](Transport& transport) {
    if (transport.size() < 4) return;  // under mpirun with fewer ranks, some methods have too few groups to sum
    RecordingTransport recording(transport);
    BegunWorker worker(recording, GetParam(), frequent_exchanges(GetParam(), 4), {});
    recording.calls.clear();
    bool sums_alone = true;
    std::string text;
    for (int t = 0; t < 9; ++t) {
      worker.step();
      for (const std::string& call : recording.calls) {
        sums_alone = sums_alone && call.starts_with("sum ") && call.find("among") == std::string::npos;
        text += std::to_string(t) + " " + call + "\n";
      }
      recording.calls.clear();
    }
    worker.communicator().finish();
    const std::vector<std::string> all = transport.all_gather(text);
    const bool alike = std::ranges::all_of(all, [&](const std::string& each) { return each == all.front(); });
    const CommunicatorTraits& traits = find_kind(communicator_kinds(), GetParam()).traits;
    EXPECT_EQ(sums_alone && alike && !text.empty(), traits.exchanges_together) << text;
    if (traits.exchanges_together) {
      Worker made(transport, GetParam(), frequent_exchanges(GetParam(), 4), {});
      EXPECT_FALSE(made.communicator().replicated().empty()) << "nothing for --replica-hash-every to compare";
    }
    EXPECT_EQ(text.empty(), traits.exchanges == ExchangePattern::kNone) << text;
    EXPECT_EQ(text.find("request") != std::string::npos, traits.exchanges == ExchangePattern::kRequests) << text;
    using enum ExchangePattern;
    EXPECT_EQ(traits.exchanges == kGradientSums || traits.exchanges == kBlockingSums || traits.exchanges == kHiddenSums,
              traits.exchanges_together);
  });
}

INSTANTIATE_TEST_SUITE_P(With, Together, testing::ValuesIn(communicator_names(4)),
                         [](const auto& each) { return identifier(each.param); });

}  // namespace
}  // namespace eave
