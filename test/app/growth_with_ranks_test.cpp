// Besides its exchanges, a rank sends as much in a large job as in a small one. Two things are excepted: the table of
// hosts and GPUs that all ranks get at start, and rank 0, which gets something from each rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "app/main/commands.h"
#include "app/run/training_run.h"
#include "eave/decorators.h"
#include "test/temporary_directory.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

struct Sent {
  std::int64_t calls = 0, bytes = 0;
};

constexpr int kFew = 4, kMany = 64;
constexpr int kStepsOfEpoch = 4, kEpochs = 2;

// Runs a small training and returns the largest counts of any rank except rank 0.
Sent most_sent(int ranks, const std::vector<std::string>& more) {
  const TemporaryDirectory directory;
  std::vector<std::string> words = {"--data=synthetic",
                                    "--synthetic-size=8",
                                    "--synthetic-samples=" + std::to_string(kStepsOfEpoch * ranks),
                                    "--synthetic-test-samples=128",
                                    "--model=dense classes",
                                    "--batch=1",
                                    "--max-steps=" + std::to_string(kStepsOfEpoch * kEpochs),
                                    "--progress=off",
                                    "--run-dir=" + (directory.path() / "run").string(),
                                    "--overwrite"};
  words.insert(words.end(), more.begin(), more.end());
  const CommandLine line = train_command_line();
  const OptionValues values = line.parse(words);
  Sent most;
  std::mutex mutex;
  on_ranks({"threads", ranks}, [&](Transport& transport) {
    const auto counting = make_counting_transport(transport);
    run_training(*counting, line, values, {.is_part = true});
    if (transport.rank() == 0) return;
    const std::lock_guard lock(mutex);
    most.calls = std::max(most.calls, counting->counters().calls);
    most.bytes = std::max(most.bytes, counting->counters().bytes);
  });
  return most;
}

// The bytes that a run with the options `with` sends more than a run with the options `without`.
Sent more_sent(int ranks, const std::vector<std::string>& without, const std::vector<std::string>& with) {
  const Sent less = most_sent(ranks, without), more = most_sent(ranks, with);
  return {more.calls - less.calls, more.bytes - less.bytes};
}

void report(const std::string& what, const Sent& few, const Sent& many) {
  std::printf("%s: %lld calls, %lld bytes of each of %d ranks; %lld calls, %lld bytes of %d\n", what.c_str(),
              static_cast<long long>(few.calls), static_cast<long long>(few.bytes), kFew,
              static_cast<long long>(many.calls), static_cast<long long>(many.bytes), kMany);
}

// As the mean over ranks, a broadcast sends (p−1)/p of its values: 3/4 with kFew ranks and 63/64 with kMany. So bytes
// may grow by a factor of 4/3.
void expect_no_growth(const std::string& what, const Sent& few, const Sent& many) {
  report(what, few, many);
  EXPECT_GT(few.calls, 0) << what;
  EXPECT_EQ(many.calls, few.calls) << what;
  EXPECT_LE(many.bytes, few.bytes * 4 / 3 + 64) << what;
}

TEST(GrowthWithRanks, of_start_and_end_only_the_hosts_names_grow) {
  const Sent few = most_sent(kFew, {"--checkpoint=off"}), many = most_sent(kMany, {"--checkpoint=off"});
  report("a whole run of 8 steps and 2 evaluations", few, many);
  constexpr int kRow = 48;  // bytes of each rank's row in the table of hosts
  EXPECT_EQ(many.calls, few.calls);
  EXPECT_LE(many.bytes, few.bytes * 4 / 3 + kRow * (kMany - kFew));
}

TEST(GrowthWithRanks, an_evaluation_sends_no_more_to_more_ranks) {
  const auto evaluated = [](int ranks) {
    return more_sent(ranks, {"--checkpoint=off", "--evaluate-every=0"}, {"--checkpoint=off"});
  };
  expect_no_growth("evaluations", evaluated(kFew), evaluated(kMany));
}

TEST(GrowthWithRanks, checkpoints_send_no_more_to_more_ranks) {
  const auto saved = [](int ranks) {
    return more_sent(ranks, {"--checkpoint=off", "--evaluate-every=0"},
                     {"--checkpoint-every=100", "--evaluate-every=0"});
  };
  expect_no_growth("a checkpoint", saved(kFew), saved(kMany));
}

}  // namespace
}  // namespace eave
