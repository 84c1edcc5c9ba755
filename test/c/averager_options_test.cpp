// Tests that an Averager ignores no option: each option changes the result of a loop, or is refused.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "eave/agreement.h"
#include "test/c/quadratic_loop.h"
#include "test/communicator/every_communicator.h"
#include "test/transport/ranks.h"
#include "transport/codecs/codec.h"

namespace eave {
namespace {

constexpr int kRanks = 4;

// All that a loop leaves except its card. The card would also show an option that has no effect.
struct Seen {
  std::vector<float> x, consensus;
  std::int64_t calls = 0, bytes = 0;
  bool operator==(const Seen&) const = default;
};

// Runs a loop with these options. Returns nothing if the Averager refuses them.
std::optional<Seen> run(const std::string& options, int ranks = kRanks) {
  std::optional<Seen> seen;
  on_ranks({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    try {
      QuadraticLoop loop(transport, options);
      loop.samples = transport.rank() + 1;
      loop.samples_everywhere = ranks * (ranks + 1) / 2;
      for (int t = 0; t < 25; ++t) loop.step();
      Seen own{loop.x, loop.consensus()};
      loop.averager.finish();
      own.calls = loop.averager.counters().calls;
      own.bytes = loop.averager.counters().bytes;
      if (transport.rank() == ranks - 1) seen = own;
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.code(), ExitCode::kUsage) << error.what();
    }
  });
  return seen;
}

// Returns a value that differs from the default and from frequent_exchanges(). "" means that the test does not try the
// option, for the reason beside it.
std::string other_value(const OptionSpec& option) {
  static const std::map<std::string, std::string> values = {
      {"tau", "2"},
      {"global-tau", "4"},
      {"post-local-at", "5"},
      {"tau-warmup", "5"},
      {"alpha", "0.15"},
      {"global-alpha", "0.11"},
      {"beta", "0.3"},
      {"rho", "1.3"},
      {"block-momentum", "0.4"},
      {"block-rate", "0.8"},
      {"slowmo-momentum", "0.3"},
      {"slowmo-rate", "0.8"},
      {"outer-rate", "0.3"},
      {"outer-momentum", "0.5"},
      {"center-momentum", "0.5"},
      {"center-ranks", "1"},
      {"average-rate", "0.1"},
      {"micro-batches", "4"},
      {"groups", "4"},
      {"pull-delay", "1"},
      {"allow-unstable", ""},  // only silences a warning
      {"overlap", ""},         // gives the same numbers, only at another time
      {"async-overlap", ""},   // likewise, with order round-robin
      {"bucket-bytes", ""},    // gives the same numbers, because all values fit into one bucket here
      {"shard-bytes", ""},     // sends the same numbers in other pieces
      {"async-order", ""},     // free has no fixed order
      {"replay", "run"},
  };
  const auto found = values.find(option.name);
  if (found != values.end()) return found->second;
  if (option.type == OptionType::kFlag) return option.default_text == "on" ? "off" : "on";
  for (const std::string& choice : option.choices)
    if (choice != option.default_text) return choice;
  ADD_FAILURE() << option.name << ": give it another value in this test";
  return "";
}

std::string words(const std::vector<std::pair<std::string, std::string>>& given, const std::string& without) {
  std::string text;
  for (const auto& [name, value] : given)
    if (name != without) text += " " + name + "=" + value;
  return text;
}

TEST(AveragerOptions, of_each_method_change_something_or_are_refused) {
  for (const CommunicatorKind& kind : communicator_kinds()) {
    const int ranks = kind.traits.only_one_rank ? 1 : kRanks;
    const std::string method = "communicator=" + kind.name + " lr=0.1";
    const std::optional<Seen> usual = run(method + words(frequent_exchanges(kind.name, ranks), ""), ranks);
    ASSERT_TRUE(usual) << kind.name;
    for (const OptionSpec& option : kind.options) {
      const std::string value = other_value(option);
      if (value.empty()) continue;
      const std::string options =
          method + words(frequent_exchanges(kind.name, ranks), option.name) + " " + option.name + "=" + value;
      const std::optional<Seen> seen = run(options, ranks);
      if (seen) {
        EXPECT_FALSE(*seen == *usual) << options << " does nothing";
      }
    }
  }
}

TEST(AveragerOptions, of_other_methods_and_codecs_are_refused_with_their_owners) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {"lr=0.1 tau=3", "tau has no effect with communicator=allreduce; it belongs to "},
      {"communicator=none compression=int8", "compression has no effect with communicator=none; it belongs to "},
      {"communicator=none top-k-share=0.1", "top-k-share has no effect with communicator=none; it belongs to "},
      {"communicator=easgd top-k-share=0.1", "top-k-share has no effect with compression=none; it belongs to top-k"},
      {"communicator=easgd top-k-share=0.1 compression=int8", "no effect with compression=int8; it belongs to top-k"},
      {"communicator=sign-vote", "a method of your own needs plugin=FILE"},
      {"communicator=easgd taw=3", "unknown option --taw"}};
  for (const auto& [options, words] : refused)
    expect_thrown<Error>(ExitCode::kUsage, words, [&] { parse_averager_options(options); });
}

TEST(AveragerOptions, have_the_bounds_of_eave_train) {
  for (const char* wrong : {"lr=-1", "momentum=2", "momentum=-0.1", "communicator=mdownpour weight-decay=-1"})
    expect_thrown<Error>(ExitCode::kUsage, "expected at least 0", [&] { parse_averager_options(wrong); });
  EXPECT_NO_THROW(parse_averager_options("lr=0 momentum=0.9"));
}

TEST(AveragerOptions, of_a_codec_change_something_or_are_refused) {
  for (const CommunicatorKind& kind : communicator_kinds()) {
    if (kind.traits.only_one_rank) continue;
    const std::string method =
        "communicator=" + kind.name + " lr=0.1" + words(frequent_exchanges(kind.name, kRanks), "");
    const std::optional<Seen> usual = run(method);
    for (const CodecKind& codec : codec_kinds()) {
      const std::optional<Seen> seen = run(method + " compression=" + codec.name);
      if (seen) {
        EXPECT_FALSE(*seen == *usual) << kind.name << " with " << codec.name << " is as without";
      }
      for (const OptionSpec& option : codec.options)
        EXPECT_FALSE(run(method + " " + option.name + "=" + option.default_text))
            << kind.name << " takes " << option.name << " without compression=" << codec.name;
    }
  }
}

// Options of the loop and of the optimizer are refused with a method for which they mean nothing.
TEST(AveragerOptions, of_the_loop_are_refused_where_they_mean_nothing) {
  for (const char* options :
       {"communicator=allreduce weight-decay=0.1", "communicator=mdownpour momentum=0.9",
        "communicator=gossip replica-hash-every=10", "communicator=easgd-async on-replica-fault=repair",
        "communicator=allreduce on-nonfinite=abort nonfinite-limit=3", "communicator=allreduce on-nonfinite=rollback",
        "communicator=allreduce on-replica-fault=repair replica-hash-every=0", "communicator=allreduce limit-step=0.1s",
        "communicator=bmuf worker-momentum=average momentum=0.9"})
    EXPECT_FALSE(run(options)) << options;
  for (const std::string word : {"yes", "1", "ON", "true", "no"})
    EXPECT_FALSE(run("communicator=easgd overlap=" + word)) << word;
  EXPECT_TRUE(run("communicator=easgd overlap=off"));
  EXPECT_TRUE(run("communicator=mdownpour weight-decay=0.1"));
}

TEST(AveragerOptions, gradients_of_a_gpu_go_in_large_buckets_unless_their_size_is_given) {
  const auto values_of = [](const std::string& options) { return parse_averager_options(options).values; };
  for (const std::string method : {"allreduce", "local-sgd tau=2"}) {
    EXPECT_EQ(values_of("communicator=" + method + " device=cuda").bytes("bucket-bytes"), std::int64_t{64} << 20);
    EXPECT_FALSE(values_of("communicator=" + method).has("bucket-bytes"));
  }
  EXPECT_EQ(values_of("communicator=allreduce device=cuda bucket-bytes=8KiB").bytes("bucket-bytes"), 8192);
}

}  // namespace
}  // namespace eave
