// Tests what `eave compare` refuses or leaves out, wherever it was given, before the first run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "test/program/expectations.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

// Only the method's own code refuses these values, which a program's averager would call in the first run.
TEST(CompareRefusals, of_a_program_come_before_its_first_run) {
  const Place place;
  const std::vector<std::pair<std::string, Texts>> cases = {
      {"easgd:tau=0", {"easgd tau=0, 2 ranks: --tau 0", "at least 1"}},
      {"local-sgd:tau=4:tau-warmup=-1", {"--tau-warmup -1"}},
      {"easgd:alpha=-1", {"--alpha -1"}},
      {"easgd-tree:groups=3", {"--groups 3", "from 1 to 2 groups"}},
      {"easgd-tree:tau=4:global-tau=6", {"--global-tau 6"}},
      {"easgd-async:center-ranks=1", {"--center-ranks 1", "every rank trains"}},
      {"allreduce:nonfinite-limit=3:on-nonfinite=abort", {"--nonfinite-limit 3"}}};
  for (const auto& [method, says] : cases) {
    expect_end(64, place.eave("compare --program true --ranks 2 --output all --communicators " + method), says);
    EXPECT_FALSE(fs::exists(place.path() / "all")) << method;
  }
  // Only the hosts of the run tell whether these have an effect.
  expect_end(0, place.eave("compare --program true --ranks 2 --output all --dry-run --launcher mpirun --communicators "
                           "easgd-tree:global-tau=40,easgd:rho=1:alpha=0.5"));
}

TEST(CompareRefusals, of_a_slow_rank_are_not_of_one_rank_wherever_it_was_given) {
  const Place place;
  std::ofstream(place.path() / "slow.conf") << "slow-rank = 1:2x\n";
  const std::string words =
      "compare --communicators easgd:tau=2 --output all --batch 8 --ranks 2 --seeds 1 --data "
      "synthetic --synthetic-samples 64 --model mlp --epochs 1 --transport threads --dry-run ";
  expect_end(0, place.eave(words + "--config slow.conf"));
  expect_end(0, place.eave(words, {.environment = "EAVE_SLOW_RANK=1:2x"}));
}

TEST(CompareRefusals, propose_a_method_for_an_option_only_if_that_helps) {
  const Place place;
  const auto said = [&](const std::string& words) {
    return expect_end(64, place.eave("compare --output all --ranks 2 --seeds 1 --transport threads " + words)).errors;
  };
  const std::string hint = "behind its name";
  EXPECT_NE(said("--communicators easgd --lr-scaling linear").find(hint), std::string::npos);
  EXPECT_EQ(said("--communicators local-sgd:reduction=sum").find(hint), std::string::npos);
  EXPECT_EQ(said("--communicators easgd --momentum 0 --nesterov").find(hint), std::string::npos);
}

}  // namespace
}  // namespace eave
