// Tests that a job which goes on from a saved state ends with the bits of one that was not interrupted, what ranks keep
// if their number has changed, and which states are refused.
#include <gtest/gtest.h>

#include <optional>
#include <tuple>

#include "c/state/state_files.h"
#include "checkpoint/checkpoint_directory.h"
#include "communicator/support/plugin.h"
#include "eave/agreement.h"
#include "test/c/averager_loop.h"
#include "test/c/quadratic_loop.h"
#include "test/communicator/every_communicator.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "test/train/saving/checkpoint_files.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// Not a multiple of tau, so that a state has counts since the last exchange; an exchange may also be in flight.
constexpr int kSavedAfter = 20, kMore = 9;

using Ended = std::vector<std::vector<float>>;  // parameters and consensus of a rank

void take_steps(QuadraticLoop& loop, int steps) {
  for (int t = 0; t < steps; ++t) {
    // In a step that is left out, the counts of the gate change.
    const bool is_bad = loop.averager.steps() == 5 && loop.transport.rank() == 0;
    loop.step([&](std::vector<float>& g) {
      if (is_bad) g[0] = std::numeric_limits<float>::infinity();
    });
  }
}

Ended end(QuadraticLoop& loop) {
  Ended ended = {loop.x, loop.consensus()};
  loop.averager.finish();
  return ended;
}

class SavedAveragers : public testing::TestWithParam<std::tuple<std::string, int, std::string>> {
 protected:
  std::string options(int ranks) const {
    const auto& [name, _, more] = GetParam();
    return averager_options(name, frequent_exchanges(name, ranks), more);
  }
};

TEST_P(SavedAveragers, go_on_with_the_bits_of_a_job_without_interruption) {
  const int ranks = std::get<1>(GetParam());
  on_ranks({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    std::string state;
    std::optional<Ended> expected;
    {
      QuadraticLoop loop(transport, options(ranks));
      take_steps(loop, kSavedAfter + kMore);
      expected = end(loop);
    }
    {
      QuadraticLoop loop(transport, options(ranks));
      take_steps(loop, kSavedAfter);
      state = loop.averager.state("mine " + std::to_string(transport.rank()));
      take_steps(loop, kMore);
      EXPECT_EQ(end(loop), *expected) << "saving changes nothing";
    }
    QuadraticLoop loop(transport, options(ranks));
    const Averager::Restored restored = loop.averager.restore({state});
    EXPECT_EQ(restored.former, transport.rank());
    EXPECT_EQ(restored.caller, "mine " + std::to_string(transport.rank()));
    EXPECT_EQ(loop.averager.steps(), kSavedAfter);
    take_steps(loop, kMore);
    EXPECT_EQ(loop.averager.steps_left_out() > 0, transport.rank() == 0 || loop.averager.traits().averages_gradients);
    EXPECT_EQ(end(loop), *expected);
  });
}

std::vector<std::tuple<std::string, int, std::string>> saved_methods() {
  std::vector<std::tuple<std::string, int, std::string>> all;
  for (const int ranks : {1, 3})
    for (const std::string& name : communicator_names(ranks)) all.emplace_back(name, ranks, "");
  for (const CommunicatorKind& kind : communicator_kinds())
    if (kind.traits.compresses) all.emplace_back(kind.name, 2, " compression=bf16");
  return all;
}

INSTANTIATE_TEST_SUITE_P(Of, SavedAveragers, testing::ValuesIn(saved_methods()), [](const auto& test) {
  return identifier(std::get<0>(test.param)) + "_" + std::to_string(std::get<1>(test.param));
});

// The values of all ranks when they saved, in memory and in a checkpoint.
struct FormerRanks {
  explicit FormerRanks(int ranks) : states(static_cast<std::size_t>(ranks)), parameters(states.size()) {}
  std::vector<std::string> states;
  std::vector<std::vector<float>> parameters;
  std::vector<float> consensus;
  std::vector<std::string_view> views() const { return {states.begin(), states.end()}; }
};

FormerRanks save_on_ranks(const std::string& options, int ranks, const std::filesystem::path& directory,
                          std::size_t size = Quadratic::kSize) {
  FormerRanks former(ranks);
  on_ranks({"threads", ranks}, [&](Transport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    QuadraticLoop loop(transport, options, size);
    for (int t = 0; t < kSavedAfter; ++t) loop.step();
    former.states[rank] = loop.averager.state(std::to_string(rank));
    loop.averager.save(directory, std::to_string(rank), 3);
    former.parameters[rank] = loop.x;
    const std::vector<float> consensus = loop.consensus();
    if (rank == 0) former.consensus = consensus;
    loop.averager.finish();
  });
  return former;
}

TEST(SavedPlugin, goes_on_from_its_consensus_or_is_refused_by_name) {
  load_plugin(FAULTY_CENTER);
  const TemporaryDirectory temporary;
  const auto restore = [&](const std::string& fault, const auto& check) {
    const std::string options = "communicator=faulty-center lr=0.1 fault=" + fault;
    const FormerRanks former = save_on_ranks(options, 2, temporary.path() / fault);
    on_ranks({"threads", 2}, [&](Transport& transport) {
      QuadraticLoop loop(transport, options);
      check(loop, former, [&] { loop.averager.restore({former.states[static_cast<std::size_t>(transport.rank())]}); });
    });
  };
  restore("none", [](QuadraticLoop& loop, const FormerRanks& former, const auto& call) {
    call();
    EXPECT_EQ(loop.consensus(), former.consensus);
  });
  restore("no-state", [](QuadraticLoop&, const FormerRanks&, const auto& call) {
    expect_error(ExitCode::kInternal, "faulty_center.so): its consensus is another one than was saved", call);
  });
}

class ElasticAveragers : public testing::TestWithParam<std::string> {};

void expect_elastic(const std::string& method, int before, int after) {
  const TemporaryDirectory temporary;
  const auto options = [&](int ranks) { return averager_options(method, frequent_exchanges(method, ranks)); };
  const FormerRanks former = save_on_ranks(options(before), before, temporary.path());
  on_ranks({after == 1 ? "loopback" : "threads", after}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options(after));
    const Averager::Restored restored = loop.averager.restore(former.views());
    EXPECT_EQ(loop.consensus(), former.consensus);
    const auto rank = static_cast<std::size_t>(transport.rank());
    const bool begins_from_mean = method == "local-sgd" || method == "gossip";
    const bool stays = transport.rank() < before && !begins_from_mean;
    const bool averages = loop.averager.traits().averages_gradients;
    EXPECT_EQ(restored.former, stays ? transport.rank() : averages ? 0 : -1);
    EXPECT_EQ(restored.caller, std::to_string(stays ? transport.rank() : 0));
    if (stays) {
      EXPECT_EQ(loop.x, former.parameters[rank]);
    } else if (begins_from_mean || averages) {
      EXPECT_EQ(loop.x, former.consensus);
    }
    for (int t = 0; t < kMore; ++t) loop.step();
    EXPECT_EQ(loop.averager.steps(), kSavedAfter + kMore);
    const auto ended = end(loop);  // before another one opens, as some methods allow one at a time

    QuadraticLoop from_files(transport, options(after));
    const std::optional<Averager::Restored> loaded = from_files.averager.load(temporary.path());
    ASSERT_TRUE(loaded);
    EXPECT_EQ(loaded->former, restored.former);
    EXPECT_EQ(loaded->caller, restored.caller);
    for (int t = 0; t < kMore; ++t) from_files.step();
    EXPECT_EQ(ended, end(from_files)) << "bytes and files hold the same";
  });
}

TEST_P(ElasticAveragers, keep_the_consensus_and_the_ranks_that_stay) {
  for (const auto& [before, after] : {std::pair(2, 1), {2, 3}, {3, 2}}) {
    SCOPED_TRACE(std::to_string(before) + " to " + std::to_string(after));
    expect_elastic(GetParam(), before, after);
  }
}

// local-sgd keeps 8 and 16 numbers that are no parameters: the samples since the last exchange, and the counts of tau.
TEST(ElasticAverager, of_a_model_as_small_as_the_counts_of_the_method_begins_from_the_mean) {
  for (const std::size_t size : {8, 16}) {
    SCOPED_TRACE(size);
    const TemporaryDirectory temporary;
    const std::string options = "communicator=local-sgd tau=3 lr=0.1";
    const FormerRanks former = save_on_ranks(options, 2, temporary.path(), size);
    on_ranks({"threads", 3}, [&](Transport& transport) {
      QuadraticLoop loop(transport, options, size);
      EXPECT_EQ(loop.averager.restore(former.views()).former, -1);
      EXPECT_EQ(loop.x, former.consensus);
      EXPECT_EQ(loop.consensus(), former.consensus);
      loop.averager.finish();
    });
  }
}

// The average of adownpour needs the number of pushes, which is not known on another number of ranks.
std::vector<std::string> elastic_names() {
  std::vector<std::string> names = communicator_names(2);
  std::erase(names, "adownpour");
  return names;
}

INSTANTIATE_TEST_SUITE_P(Of, ElasticAveragers, testing::ValuesIn(elastic_names()),
                         [](const auto& test) { return identifier(test.param); });

TEST(ElasticAverager, refuses_a_method_that_counts_the_pushes_of_all_ranks) {
  const TemporaryDirectory temporary;
  const auto options = [](int ranks) { return averager_options("adownpour", frequent_exchanges("adownpour", ranks)); };
  const FormerRanks former = save_on_ranks(options(2), 2, temporary.path());
  on_ranks({"threads", 3}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options(3));
    expect_thrown<AgreedError>(ExitCode::kConfiguration, "saved by 2 workers, and now there are 3",
                               [&] { loop.averager.restore(former.views()); });
  });
}

// The sum of what a rank of easgd-tree has not sent yet: the residual of its own pulls, and, on the first rank of a
// group, the residual of the group's pulls.
std::vector<double> unsent(QuadraticLoop& loop) {
  const std::string bytes = loop.averager.state("");
  const SavedStates saved = unpack_states(loop.transport, {bytes});
  std::vector<double> sum(loop.x.size());
  for (const char* name : {"communicator.3", "communicator.4"}) {
    if (!saved.mine.has(name)) continue;
    const ConstSlice values = saved.mine.values(name);
    EXPECT_EQ(values.size(), sum.size());
    std::ranges::transform(values, sum, sum.begin(), std::plus<>());
  }
  return sum;
}

// Rank 2 is the first of its group only on 4 ranks, rank 3 only on 6.
TEST(ElasticAverager, of_a_tree_keeps_what_compression_has_dropped) {
  const std::string options = "communicator=easgd-tree groups=2 tau=3 global-tau=6 compression=top-k lr=0.1";
  std::vector<std::vector<double>> before(6, std::vector<double>(Quadratic::kSize));
  std::vector<std::string> states(4);
  on_ranks({"threads", 4}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options);
    for (int t = 0; t < kSavedAfter; ++t) loop.step();
    const auto rank = static_cast<std::size_t>(transport.rank());
    states[rank] = loop.averager.state("");
    before[rank] = unsent(loop);
    loop.averager.finish();
  });
  EXPECT_NE(before[2], std::vector<double>(Quadratic::kSize));
  on_ranks({"threads", 6}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options);
    loop.averager.restore(std::vector<std::string_view>(states.begin(), states.end()));
    const std::vector<double> after = unsent(loop);
    for (std::size_t k = 0; k < after.size(); ++k)
      ASSERT_NEAR(after[k], before[static_cast<std::size_t>(transport.rank())][k], 1e-6) << transport.rank();
    loop.averager.finish();
  });
}

// The folder in which the process works, until this object ends.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::filesystem::path& folder) : former_(std::filesystem::current_path()) {
    std::filesystem::current_path(folder);
  }
  ~WorkingFolder() { std::filesystem::current_path(former_); }

 private:
  std::filesystem::path former_;
};

TEST(SavingAverager, takes_a_folder_by_its_name_alone_and_with_a_slash_behind_it) {
  const TemporaryDirectory temporary;
  const WorkingFolder here(temporary.path());
  for (const std::filesystem::path name : {"bare", "slash/", "./dot", "deep/er/"}) {
    SCOPED_TRACE(name);
    const FormerRanks former = save_on_ranks("communicator=easgd tau=3 lr=0.1", 2, name);
    on_ranks({"threads", 2}, [&](Transport& transport) {
      QuadraticLoop loop(transport, "communicator=easgd tau=3 lr=0.1");
      EXPECT_TRUE(loop.averager.load(name));
      EXPECT_EQ(loop.consensus(), former.consensus);
      loop.averager.finish();
    });
    EXPECT_TRUE(std::filesystem::is_directory(temporary.path() / name));
  }
}

TEST(SavingAverager, refuses_a_folder_without_a_name) {
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=easgd tau=3 lr=0.1");
    loop.step();
    expect_thrown<AgreedError>(ExitCode::kUsage, "has no name", [&] { loop.averager.save("", "", 1); });
    loop.averager.finish();
  });
}

// Opens an averager on two ranks with these options. Each rank restores the states that `choose` returns for its rank.
void expect_states_refused(const std::string& options, ExitCode code, const std::string& words,
                           const std::function<std::vector<std::string_view>(int)>& choose) {
  std::vector<std::string> messages(2);
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop loop(transport, options);
    try {
      loop.averager.restore(choose(transport.rank()));
      ADD_FAILURE() << "not refused: " << words;
    } catch (const AgreedError& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      messages[static_cast<std::size_t>(transport.rank())] = error.what();
    }
  });
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_NE(messages[0].find(words), std::string::npos) << messages[0];
}

TEST(StatesThatDoNotFit, are_refused_by_name_on_all_ranks) {
  const TemporaryDirectory temporary;
  const std::string options = "communicator=easgd tau=3 lr=0.1";
  const FormerRanks former = save_on_ranks(options, 2, temporary.path());
  const FormerRanks later = save_on_ranks(options + " alpha=0.2", 2, temporary.path() / "other");
  const auto own = [&](int rank) { return std::vector{former.views()[static_cast<std::size_t>(rank)]}; };
  const auto refused = [&](const std::string& words, const auto& choose, ExitCode code = ExitCode::kConfiguration) {
    expect_states_refused(options, code, words, choose);
  };
  expect_states_refused("communicator=easgd tau=4", ExitCode::kConfiguration,
                        "saved with tau=3, and this averager has tau=4", own);
  expect_states_refused("communicator=local-sgd tau=3", ExitCode::kConfiguration, "saved with communicator=easgd", own);
  refused("saved with alpha=0.2", [&](int rank) { return std::vector{later.views()[static_cast<std::size_t>(rank)]}; });
  refused("rank 1 was given no state, rank 0 a state of step 20",
          [&](int rank) { return rank == 0 ? own(0) : std::vector<std::string_view>(); });
  refused("rank 0 was given no state", [&](int rank) { return rank == 1 ? own(1) : std::vector<std::string_view>(); });
  refused("rank 1 was given a state of step 20 (", [&](int rank) { return rank == 0 ? own(0) : later.views(); });
  refused(
      "the state of rank 1 is missing among the 1 state given", [&](int) { return own(0); }, ExitCode::kUsage);
  refused(
      "it is not a state that", [&](int) { return std::vector<std::string_view>{"nothing"}; }, ExitCode::kBadData);
  std::string damaged = former.states[1];
  damaged[damaged.size() / 2] ^= 1;
  refused(
      "is not what was written", [&](int rank) { return rank == 0 ? own(0) : std::vector<std::string_view>{damaged}; },
      ExitCode::kBadData);
  std::string cut = former.states[0].substr(0, former.states[0].size() - 5);
  refused(
      "bytes", [&](int rank) { return rank == 1 ? own(1) : std::vector<std::string_view>{cut}; }, ExitCode::kBadData);
}

TEST(StatesThatDoNotFit, of_a_model_of_another_size_are_refused) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=easgd");
    loop.step();
    const std::string state = loop.averager.state("");
    std::vector<float> x(3), g(3);
    Averager other(transport, "communicator=easgd", x, g);
    expect_thrown<AgreedError>(ExitCode::kConfiguration, "saved with 40 parameters, and this averager has 3 parameters",
                               [&] { other.restore({state}); });
  });
}

// On a GPU another size of buckets is the default.
TEST(States, go_on_with_other_buckets) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=allreduce bucket-bytes=64MiB");
    loop.step();
    const std::string state = loop.averager.state("");
    QuadraticLoop other(transport, "communicator=allreduce");
    other.averager.restore({state});
    EXPECT_EQ(other.averager.steps(), 1);
  });
}

TEST(States, are_saved_after_the_first_step_and_restored_before_it) {
  on_ranks({"loopback", 1}, [](Transport& transport) {
    QuadraticLoop loop(transport, "communicator=easgd");
    expect_thrown<AgreedError>(ExitCode::kUsage, "before the first step", [&] { loop.averager.state(""); });
    loop.step();
    const std::string state = loop.averager.state("");
    expect_thrown<AgreedError>(ExitCode::kUsage, "has taken steps already", [&] { loop.averager.restore({state}); });
  });
}

TEST(Checkpoints, that_are_damaged_are_passed_over_and_old_ones_removed) {
  const TemporaryDirectory temporary;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    QuadraticLoop none(transport, "communicator=easgd tau=2"), loop(transport, "communicator=easgd tau=2");
    EXPECT_FALSE(none.averager.load(temporary.path() / "runs"));
    std::vector<float> third;
    for (int t = 1; t <= 4; ++t) {
      loop.step();
      loop.averager.save(temporary.path() / "runs", "", 2);
      if (t == 3) third = loop.x;
    }
    if (transport.rank() == 0) {
      EXPECT_EQ(committed_steps(temporary.path() / "runs"), (std::vector<std::int64_t>{3, 4}));
      flip_bit(checkpoint_path(temporary.path() / "runs", 4) / rank_file_name(1), 5000);
    }
    transport.all_gather("");
    EXPECT_TRUE(none.averager.load(temporary.path() / "runs"));
    EXPECT_EQ(none.averager.steps(), 3);
    EXPECT_EQ(none.x, third);
  });
}

}  // namespace
}  // namespace eave
