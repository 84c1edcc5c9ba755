// Tests that a non-finite loss ends the run, on every rank and with every codec.
#include <gtest/gtest.h>

#include "test/program/error_cases.h"

namespace eave {
namespace {

// The program finds this only in training, so it has already printed its card.
TEST(Divergence, ends_with_76_and_one_message) {
  const Place place;
  Runs runs;
  for (const std::string communicator : {"allreduce", "easgd"}) {
    const std::string words = quick("--lr 500000 --epochs 9 --communicator " + communicator);
    start_all(runs, place, {words, 76, {"training diverged", "try a smaller --lr"}});
  }
  runs.check([](const Ended& ended, const Case& wrong, const std::string& how) {
    Ended quiet = ended;
    quiet.output.clear();
    expect_one_message(quiet, wrong, how);
  });
}

// If a run keeps checkpoints, its ranks catch signals and do not end by them. Still exactly one message may appear.
TEST(Divergence, of_a_run_with_checkpoints_is_told_once) {
  const Place place;
  Runs runs;
  int number = 0;
  for (const std::string method : {"allreduce", "easgd --tau 3", "local-sgd --tau 3", "easgd-async --tau 3"}) {
    for (const std::string ranks : {"2", "3"}) {
      const Case wrong{quick("--lr 500000 --nonfinite-limit 1 --evaluate-every 0 --communicator " + method +
                             " --run-dir run-" + std::to_string(number++)),
                       76,
                       {"training diverged", "try a smaller --lr"},
                       "OMPI_MCA_odls_base_sigkill_timeout=1"};
      const std::string threads = wrong.words + " --transport threads --ranks " + ranks + " --overwrite";
      runs.start(wrong, "threads " + ranks, [=, &place] { return place.eave(threads); });
      if (!has_mpirun()) continue;
      Case own = wrong;
      own.words += "-mpi";
      runs.start(own, "mpirun " + ranks, [=, &place] {
        return place.eave(own.words, {std::stoi(ranks), own.environment});
      });
    }
  }
  runs.check([&](const Ended& ended, const Case& wrong, const std::string& how) {
    Ended quiet = ended;
    quiet.output.clear();
    expect_one_message(quiet, wrong, how);
    EXPECT_FALSE(ended.says("MPI_ABORT")) << how << ended.errors;
  });
  for (const std::string run : {"run-0", "run-3"})
    EXPECT_NE(place.read(run + "/metrics.jsonl").find("{\"type\":\"failure\",\"code\":76"), std::string::npos);
}

// All ranks detect the failure themselves, at the same moment.
TEST(Divergence, that_aborts_is_told_once_where_sigterm_asks_to_leave) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Place place;
  const Ended ended =
      place.eave(quick("--lr 500000 --epochs 9 --communicator easgd --on-nonfinite abort --run-dir run"),
                 {3, "OMPI_MCA_odls_base_sigkill_timeout=1"});
  EXPECT_EQ(ended.code, 76) << ended.errors;
  EXPECT_EQ(ended.messages().size(), 1u) << ended.errors;
}

TEST(NonfiniteStep, names_its_rank_or_says_that_it_was_found_after_the_sum) {
  const Place place;
  const std::string words = quick("--transport threads --ranks 2 --inject-fault 1:3:");
  for (const auto& [more, says] : std::vector<std::pair<std::string, std::string>>{
           {"nan-gradient", "eave: warning: the gradient of step 3 is not finite after the sum"},
           {"nan-loss", "rank 1 on "},
           {"nan-gradient --communicator easgd --tau 2", "rank 1 on "}}) {
    const Ended ended = place.eave(words + more);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_TRUE(ended.says(says)) << ended.errors;
    EXPECT_EQ(ended.errors.find("not finite"), ended.errors.rfind("not finite")) << ended.errors;
  }
}

TEST(InjectedFault, that_would_never_come_is_refused) {
  const Place place;
  const auto expect = [&](const std::string& fault, const std::string& says) {
    const Ended ended = place.eave(quick("--inject-fault " + fault));
    EXPECT_EQ(ended.code, 64) << ended.errors;
    EXPECT_TRUE(ended.says(says)) << ended.errors;
  };
  expect("0:99:nan-loss", "the run has 13 steps");
  expect("0:3:nan-gradient:1000000:0", "the elements of this model are 0 to ");
  EXPECT_EQ(place.eave(quick("--inject-fault 0:13:nan-loss")).code, 0);
}

TEST(Divergence, is_noticed_behind_compression) {
  const Place place;
  for (const std::string codec : {"bf16", "fp16", "int8", "top-k"}) {
    const Ended ended =
        place.eave(quick("--lr 500000 --epochs 9 --transport threads --ranks 2 --compression " + codec));
    EXPECT_EQ(ended.code, 76) << codec << ended.errors;
    EXPECT_TRUE(ended.says("training diverged")) << ended.errors;
  }
}

TEST(Divergence, leaves_the_steps_until_then_in_the_metrics) {
  const Place place;
  EXPECT_EQ(place.eave(quick("--lr 500000 --transport threads --ranks 2 --on-nonfinite abort --run-dir run")).code, 76);
  const std::string metrics = place.read("run/metrics.jsonl");
  EXPECT_NE(metrics.find("\"type\":\"step\",\"rank\":1,\"step\":1,"), std::string::npos) << metrics;
}

}  // namespace
}  // namespace eave
