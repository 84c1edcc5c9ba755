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

// A value of one slice of replicated(), of those after an exchange, differs on one rank when the next one comes.
// Expects that the slices stay equal, once all ranks have taken another rank's after that exchange.
void expect_mended(Transport& transport, const std::string& method, const Given& given, std::size_t slice) {
  BegunWorker worker(transport, method, given, {.momentum = 0.9}, 3);
  const std::vector<Slice> vectors = worker.communicator().replicated();
  worker.run(2);
  if (slice >= vectors.size()) return;
  if (transport.rank() == 1) vectors[slice][3] += 0.25f;
  worker.step();
  for (const Slice each : worker.communicator().replicated()) transport.broadcast(each, 0).wait();
  worker.run(6);  // exchanges follow every third step
  for (const Slice each : worker.communicator().replicated()) {
    EXPECT_TRUE(same_on_all_ranks(transport, {each.begin(), each.end()})) << "slice " << slice;
  }
  worker.communicator().finish();
}

TEST_P(Together, keeps_what_a_repair_has_made_equal) {
  const CommunicatorKind& kind = find_kind(communicator_kinds(), GetParam());
  if (!kind.traits.exchanges_together) GTEST_SKIP() << "keeps nothing equal";
  const Given usual = frequent_exchanges(GetParam(), 3), compressed = with(usual, {{"compression", "int8"}});
  std::vector<Given> courses = {usual, compressed};
  if (std::ranges::count(kind.options, "worker-momentum", &OptionSpec::name) > 0)
    courses.push_back(with(compressed, {{"worker-momentum", "average"}}));
  constexpr std::size_t kMost = 6;  // slices of a method
  for (const Given& given : courses) {
    for (std::size_t slice = 0; slice < kMost; ++slice) {
      on_ranks({"threads", 3}, [&](Transport& transport) { expect_mended(transport, GetParam(), given, slice); });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(With, Together, testing::ValuesIn(communicator_names(4)),
                         [](const auto& each) { return identifier(each.param); });

}  // namespace
}  // namespace eave
