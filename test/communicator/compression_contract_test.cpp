// The contract of compression: each method that compresses, with each codec that it accepts.
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <sstream>
#include <utility>

#include "eave/job.h"
#include "every_communicator.h"
#include "test/expectations.h"
#include "test/transport/ranks.h"
#include "transport/decorators/forwarding.h"
#include "worker.h"

namespace eave {
namespace {

// Methods that send parameters, not differences, accept only codecs that round; a codec that drops values would make
// the parameters useless.
bool sends_parameters(const CommunicatorKind& method) {
  return method.traits.exchanges == ExchangePattern::kRequests || method.traits.exchanges == ExchangePattern::kPairs;
}

std::vector<std::string> methods_that_send_parameters() {
  std::vector<std::string> names;
  for (const CommunicatorKind& method : communicator_kinds())
    if (method.traits.compresses && sends_parameters(method)) names.push_back(method.name);
  EXPECT_FALSE(names.empty());
  return names;
}

class CompressedMethods : public testing::TestWithParam<Ranks> {
 protected:
  // Calls `body` for each pair of a method and a codec that it accepts.
  static void for_all(const std::function<void(const std::string& method, const Given& given)>& body) {
    for (const CommunicatorKind& method : communicator_kinds()) {
      if (!method.traits.compresses) continue;
      for (const CodecKind& codec : codec_kinds()) {
        if (!codec.only_rounds && sends_parameters(method)) continue;
        SCOPED_TRACE(method.name + " with " + codec.name);
        Given given = frequent_exchanges(method.name, GetParam().count);
        given.emplace_back("compression", codec.name);
        if (codec.name == "top-k") given.emplace_back("top-k-share", "0.25");
        body(method.name, given);
      }
    }
  }
};

TEST_P(CompressedMethods, give_the_same_consensus_on_all_ranks_and_the_same_bits_each_time) {
  on_ranks(GetParam(), [](Transport& transport) {
    for_all([&](const std::string& method, const Given& given) {
      std::vector<std::vector<float>> parameters, consensus;
      for (int run = 0; run < 2; ++run) {
        BegunWorker worker(transport, method, given, {.size = 2500, .momentum = 0.9, .uneven = true}, 14);
        EXPECT_TRUE(same_on_all_ranks(transport, worker.consensus()));
        worker.communicator().finish();
        parameters.push_back(worker.x);
        consensus.push_back(worker.consensus());
      }
      EXPECT_EQ(parameters[0], parameters[1]);
      EXPECT_EQ(consensus[0], consensus[1]);
    });
  });
}

TEST_P(CompressedMethods, restored_from_their_state_go_on_with_the_same_bits) {
  on_ranks(GetParam(), [](Transport& transport) {
    for_all([&](const std::string& method, const Given& given) {
      expect_to_resume(transport, method, given, {.size = 1100, .momentum = 0.9, .uneven = true}, 20, 10);
    });
  });
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(sum);
}

bool is_top_k(const Given& given) { return given.back().first == "top-k-share"; }

// The workers' targets differ, so the differences that an elastic method sends never become 0. Top-k sends each number
// only now and then. So with top-k the center of an elastic method never comes to rest.
TEST_P(CompressedMethods, end_near_where_they_end_without) {
  on_ranks(GetParam(), [](Transport& transport) {
    for_all([&](const std::string& method, const Given& given) {
      const Problem problem{.learning_rate = 0.05};
      Given without = given;
      std::erase_if(without,
                    [](const auto& each) { return each.first == "compression" || each.first == "top-k-share"; });
      BegunWorker with(transport, method, given, problem, 300), plain(transport, method, without, problem, 300);
      EXPECT_LT(distance(with.consensus(), plain.consensus()),
                (is_top_k(given) ? 0.4 : 0.02) * distance(problem.start(), plain.consensus()));
    });
  });
}

TEST_P(CompressedMethods, change_something_on_several_ranks_and_nothing_on_one) {
  on_ranks(GetParam(), [](Transport& transport) {
    for_all([&](const std::string& method, const Given& given) {
      Given without = given;
      for (auto& [name, text] : without) {
        if (name == "compression") text = "none";
      }
      std::erase_if(without, [](const auto& each) { return each.first == "top-k-share"; });
      BegunWorker with(transport, method, given, {}, 12), plain(transport, method, without, {}, 12);
      const bool is_alone = transport.size() == 1;
      EXPECT_EQ(with.consensus() == plain.consensus(), is_alone);
      EXPECT_EQ(with.warnings.size(), plain.warnings.size() + (is_alone ? 1 : 0));
      EXPECT_EQ(with.communicator().equation().find("\ncompressed, ") == std::string::npos, is_alone);
      EXPECT_FALSE(says(plain.communicator().equation(), "compressed"));
    });
  });
}

TEST_P(CompressedMethods, keep_vectors_of_a_fixed_number) {
  on_ranks(GetParam(), [](Transport& transport) {
    for_all([&](const std::string& method, const Given& given) {
      Worker worker(transport, method, given, {});
      const std::size_t before = worker.communicator().state().size();
      worker.begin();
      worker.run(4);
      worker.communicator().finish();
      EXPECT_EQ(worker.communicator().state().size(), before);
    });
  });
}

TEST_P(CompressedMethods, that_send_parameters_refuse_what_does_more_than_to_round) {
  on_ranks(GetParam(), [](Transport& transport) {
    for (const std::string& method : methods_that_send_parameters()) {
      for (const CodecKind& codec : codec_kinds()) {
        if (codec.only_rounds) continue;
        SCOPED_TRACE(method + " with " + codec.name);
        expect_error(ExitCode::kUsage, "; give bf16 or fp16", [&] {
          Worker(transport, method, {{"compression", codec.name}}, {});
        });
      }
    }
  });
}

// A transport between threads that gives itself another name, such as "mpi".
class Launched final : public ForwardingTransport {
 public:
  Launched(Transport& inner, std::string name) : ForwardingTransport(inner), name_(std::move(name)) {}
  std::string name() const override { return name_; }

 private:
  const std::string name_;
};

// The warnings of all ranks when they make a method. `hosts` names the host of each rank, as in "a a b".
std::string warning(const std::string& method, const Given& given, const std::string& hosts,
                    const std::string& transport_name = "mpi") {
  std::istringstream words(hosts);
  const std::vector<std::string> of_ranks{std::istream_iterator<std::string>(words), {}};
  const CommunicatorKind& kind = find_kind(communicator_kinds(), method);
  std::vector<OptionSpec> specs = kind.options;
  for (const OptionSpec& option : compression_options()) specs.push_back(option);
  std::vector<std::vector<std::string>> warnings(of_ranks.size());
  find_kind(transport_kinds(), "threads").run(static_cast<int>(of_ranks.size()), [&](Transport& threads) {
    Launched transport(threads, transport_name);
    const OptionValues values = values_of(specs, given);
    CommunicatorContext context{transport, values, 0.1, warnings[me(transport)]};
    context.hosts = of_ranks;
    kind.make(context);
  });
  std::string all;
  for (const std::vector<std::string>& of_rank : warnings)
    for (const std::string& each : of_rank) all += each.substr(0, each.find(" it sends without")) + "\n";
  return all;
}

Given compressed(const std::string& codec) { return {{"compression", codec}}; }

TEST(CompressedSums, are_warned_of_where_a_host_sends_more_than_without) {
  const std::string three = "--compression: a host with 3 ranks sends 1.5 times what\n";
  for (const std::string method : {"allreduce", "local-sgd", "slowmo", "easgd"}) {
    EXPECT_EQ(warning(method, compressed("bf16"), "a a a b b b"), three) << method;
    EXPECT_EQ(warning(method, compressed("bf16"), "a b a b a b", "shaped(mpi)"), three) << method;
    EXPECT_EQ(warning(method, compressed("bf16"), "a a b b"), "") << method << ": as much as without";
    EXPECT_EQ(warning(method, compressed("bf16"), "a a b b c c"), "") << method << ": as much as without";
    EXPECT_EQ(warning(method, compressed("int8"), "a a a b b b"), "") << method;
    EXPECT_EQ(warning(method, compressed("bf16"), "a a a"), "") << method << ": nothing leaves the host";
    EXPECT_EQ(warning(method, compressed("bf16"), "a a a b b b", "mpi-flat"), "") << method << ": flat without it too";
    EXPECT_EQ(warning(method, {}, "a a a b b b"), "") << method;
  }
}

// In "a a a b", a compressed sum sends 3 x 1/4 of a vector between the hosts in each direction, in half the bytes: 3/8.
// Without compression it sends half a vector, so there is nothing to warn of.
TEST(CompressedSums, of_uneven_hosts_are_counted_as_they_travel) {
  EXPECT_EQ(warning("allreduce", compressed("bf16"), "a a a b"), "");
  EXPECT_EQ(warning("allreduce", compressed("bf16"), "a a a a a b"), "");
  EXPECT_EQ(warning("allreduce", compressed("bf16"), "a a a a b b b b c"),
            "--compression: a host with 4 ranks sends 1.66667 times what\n");
}

TEST(CompressedSums, of_groups_are_warned_of_where_these_span_hosts) {
  const auto of_groups = [](const std::string& groups, const std::string& hosts) {
    return warning("easgd-tree", {{"compression", "bf16"}, {"groups", groups}}, hosts);
  };
  EXPECT_EQ(of_groups("hosts", "a a a b b b"), "");
  EXPECT_EQ(of_groups("0+3,1+4,2+5", "a a a b b b"), "");
  EXPECT_EQ(of_groups("1", "a a a b b b"), "--compression: a host with 3 ranks sends 1.5 times what\n");
  EXPECT_EQ(of_groups("0,1,2,3,4,5", "a a a b b b"), "--compression: a host with 3 ranks sends 1.5 times what\n");
}

TEST(CompressedSums, are_not_what_pairs_and_asynchronous_methods_send) {
  for (const std::string& method : methods_that_send_parameters())
    EXPECT_EQ(warning(method, compressed("bf16"), "a a a b b b"), "") << method;
}

// Calls `body` on each rank with what `make` of this kind would get there.
void with_make(const CommunicatorKind& kind, int ranks, const Given& given,
               const std::function<void(CommunicatorContext)>& body) {
  find_kind(transport_kinds(), "threads").run(ranks, [&](Transport& transport) {
    std::vector<OptionSpec> specs = kind.options;
    for (const OptionSpec& option : compression_options()) specs.push_back(option);
    specs.push_back({"replica-hash-every", OptionType::kInteger, "100", "as in eave train"});
    const OptionValues values = values_of(specs, given);
    std::vector<std::string> warnings;
    body({transport, values, 0.1, warnings});
  });
}

TEST(Traits, say_that_a_method_compresses_if_its_make_asks_for_the_codec) {
  for (const CommunicatorKind& kind : communicator_kinds()) {
    bool asked = false;
    with_make(kind, 1, {}, [&](CommunicatorContext context) {
      context.asked_for_codec = &asked;
      kind.make(context);
    });
    EXPECT_EQ(asked, kind.traits.compresses) << kind.name;
  }
}

TEST(Options, that_a_method_ignores_are_refused_whatever_its_traits_say) {
  const CommunicatorKind& none = find_kind(communicator_kinds(), "none");
  const auto expect = [&](const Given& given, const std::string& words) {
    with_make(none, 1, given, [&](const CommunicatorContext& context) {
      expect_error(ExitCode::kUsage, words, [&] { make_communicator(none, context); });
    });
  };
  expect({{"compression", "int8"}}, "has no effect: --communicator none does not ask for the codec");
}

TEST(Options, that_compare_nothing_are_refused_if_there_is_another_rank) {
  CommunicatorKind silent = find_kind(communicator_kinds(), "none");  // its replicated() is empty
  silent.traits.exchanges_together = true;
  for (const int ranks : {1, 2}) {
    for (const char* every : {"0", "6"}) {
      with_make(silent, ranks, {{"replica-hash-every", every}}, [&](const CommunicatorContext& context) {
        const auto make = [&] { make_communicator(silent, context); };
        if (ranks == 1 || every[0] == '0') {
          EXPECT_NO_THROW(make());
        } else {
          expect_error(ExitCode::kUsage, "override Communicator::replicated()", make);
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTransports, CompressedMethods, testing::ValuesIn(ranks_under_test()), name_of_ranks);

}  // namespace
}  // namespace eave
