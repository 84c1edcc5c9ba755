// A communicator from a shared object (plug-in) keeps the contract of communicators and follows its equation.
#include "communicator/support/plugin.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "test/expectations.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"
#include "worker.h"

namespace eave {
namespace {

double sign(double value) { return (value > 0) - (value < 0); }

// A reference from the equation alone: x <- x - lr 0.01 sign(sum_i sign(g_i)). A rank without samples does not vote.
Doubles vote(const Problem& problem, int ranks, int steps) {
  const std::vector<float> start = problem.start();
  Doubles x(start.begin(), start.end());
  for (int step = 0; step < steps; ++step) {
    Doubles votes(x.size());
    for (int rank = 0; rank < ranks; ++rank) {
      const Doubles g = WorkerLoss(problem, rank).gradient(x);
      for (std::size_t k = 0; k < x.size(); ++k) votes[k] += problem.samples(rank, step) > 0 ? sign(g[k]) : 0;
    }
    for (std::size_t k = 0; k < x.size(); ++k) x[k] -= problem.learning_rate * 0.01 * sign(votes[k]);
  }
  return x;
}

class SignVote : public testing::TestWithParam<Ranks> {};

// The workers' targets are a few steps away, so signs change within the test.
TEST_P(SignVote, follows_its_equation) {
  const Problem problem{.learning_rate = 1, .uneven = true};
  on_ranks(GetParam(), [&](Transport& transport) {
    BegunWorker worker(transport, "sign-vote", {}, problem, 100);
    const Doubles expected = vote(problem, transport.size(), 100);
    for (std::size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(worker.x[k], expected[k], 1e-5) << k;
  });
}

INSTANTIATE_TEST_SUITE_P(Plugin, SignVote, testing::ValuesIn(ranks_under_test()), name_of_ranks);

TEST(Plugin, is_loaded_once_however_it_is_called) {
  const auto count = communicator_kinds().size();
  load_plugin(SIGN_VOTE);
  load_plugin(std::filesystem::relative(SIGN_VOTE));
  EXPECT_EQ(communicator_kinds().size(), count);
  ASSERT_EQ(loaded_plugins().size(), 1u);
  EXPECT_EQ(loaded_plugins()[0].method, "sign-vote");
}

TEST(Plugin, that_is_none_is_refused_by_name) {
  const TemporaryDirectory directory;
  const std::string copy = directory.path() / "copy.so";
  std::filesystem::copy_file(SIGN_VOTE, copy);
  const auto expect = [](const std::string& path, ExitCode code, const std::string& words) {
    expect_error(code, words, [&] { load_plugin(path); });
  };
  expect(copy, ExitCode::kUsage, "a communicator 'sign-vote' already");
  expect("missing.so", ExitCode::kInputMissing, "plug-in missing.so: cannot be opened");
  expect(__FILE__, ExitCode::kUsage, "cannot be opened");
  expect(NO_PLUGIN, ExitCode::kUsage, "is no plug-in");
  expect(MISNAMED_PLUGIN, ExitCode::kUsage, "communicator 'Soft Sync': a name is made of lower-case letters");
  expect(THROWING_PLUGIN, ExitCode::kInternal,
         "it cannot describe its method: no table; tell whoever wrote the plug-in");
  const std::string other = "other headers of eave, or by another compiler or library mode; compile it again";
  expect(FOREIGN_PLUGIN, ExitCode::kConfiguration, other);
  expect(DEBUG_PLUGIN, ExitCode::kConfiguration, other);
}

// Opening such a file would end the process with a signal.
TEST(Plugin, that_was_cut_off_is_refused_by_name) {
  const TemporaryDirectory directory;
  std::ifstream file(SIGN_VOTE, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{4096}, std::size_t{64}}) {
    const std::string path = directory.path() / ("cut-" + std::to_string(size) + ".so");
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    expect_error(ExitCode::kBadData, "plug-in " + path + ": was cut off: it has " + std::to_string(size) + " bytes",
                 [&] { load_plugin(path); });
  }
}

TEST(Plugin, whose_static_constructor_throws_is_named) {
  EXPECT_EXIT(load_plugin(BURSTING_PLUGIN), testing::ExitedWithCode(70),
              "plug-in .*bursting_plugin.*: a static constructor throws an exception: no table");
}

}  // namespace
}  // namespace eave

int main(int argc, char** argv) {
  eave::load_plugin(SIGN_VOTE);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
