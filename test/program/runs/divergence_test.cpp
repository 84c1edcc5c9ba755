// Tests that a non-finite loss ends the run, on every rank and with every codec, or that the run goes back to a
// checkpoint.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

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
    SCOPED_TRACE(how);
    expect_end(wrong.code, ended, wrong.says);
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
    SCOPED_TRACE(how);
    expect_end(wrong.code, ended, wrong.says);
    EXPECT_FALSE(ended.says("MPI_ABORT")) << how << ended.errors;
  });
  for (const std::string run : {"run-0", "run-3"})
    EXPECT_NE(place.read(run + "/metrics.jsonl").find("{\"type\":\"failure\",\"code\":76"), std::string::npos);
}

// All ranks detect the failure themselves, at the same moment.
TEST(Divergence, that_aborts_is_told_once_where_sigterm_asks_to_leave) {
  if (!has_mpirun()) GTEST_SKIP() << "no mpirun";
  const Place place;
  expect_end(76, place.eave(quick("--lr 500000 --epochs 9 --communicator easgd --on-nonfinite abort --run-dir run"),
                            {3, "OMPI_MCA_odls_base_sigkill_timeout=1"}));
}

TEST(NonfiniteStep, names_its_rank_or_says_that_it_was_found_after_the_sum) {
  const Place place;
  const std::string words = quick("--transport threads --ranks 2 --inject-fault 1:3:");
  for (const auto& [more, says] : std::vector<std::pair<std::string, std::string>>{
           {"nan-gradient", "eave: warning: the gradient of step 3 is not finite after the sum"},
           {"nan-loss --communicator easgd --tau 2", "eave leaves out this rank's batch"},
           {"nan-gradient --communicator easgd --tau 2", "rank 1 on "}}) {
    const Ended ended = expect_end(0, place.eave(words + more), {says});
    EXPECT_EQ(ended.errors.find("not finite"), ended.errors.rfind("not finite")) << ended.errors;
  }
  expect_end(0, place.eave(words + "nan-loss"), {"rank 1 on ", "eave leaves out the step on all ranks"});
  EXPECT_FALSE(expect_end(0, place.eave(quick("--inject-fault 0:3:nan-gradient")), {"step 3 is not finite; "})
                   .says("all ranks"));
}

TEST(InjectedFault, that_would_never_come_is_refused) {
  const Place place;
  const auto expect = [&](const std::string& fault, const std::string& says) {
    expect_end(64, place.eave(quick("--inject-fault " + fault)), {says});
  };
  expect("0:99:nan-loss", "the run has 13 steps");
  expect("0:3:nan-gradient:1000000:0", "the elements of this model are 0 to ");
  expect_end(0, place.eave(quick("--inject-fault 0:13:nan-loss")));
}

TEST(Divergence, is_noticed_behind_compression) {
  const Place place;
  for (const std::string codec : {"bf16", "fp16", "int8", "top-k"}) {
    expect_end(76, place.eave(quick("--lr 500000 --epochs 9 --transport threads --ranks 2 --compression " + codec)),
               {"training diverged"});
  }
}

TEST(Divergence, leaves_the_steps_until_then_in_the_metrics) {
  const Place place;
  expect_end(76, place.eave(quick("--lr 500000 --transport threads --ranks 2 --on-nonfinite abort --run-dir run")));
  const std::string metrics = place.read("run/metrics.jsonl");
  expect_parts(metrics, {"\"type\":\"step\",\"rank\":1,\"step\":1,"});
}

constexpr const char* kTwoThatMayRollBack = "--transport threads --ranks 2 --run-dir run ";

TEST(Rollback, ends_with_the_bits_of_a_run_without_the_fault) {
  const Place place;
  const std::string words =
      "train" + std::string(kQuick) + kTwoThatMayRollBack + "--epochs 10 --checkpoint-every 4 --overwrite ";
  expect_told(0, place.eave(words));
  const std::string expected = place.read("run/model.safetensors");
  const std::string faulty = words + "--on-nonfinite rollback --inject-fault ";
  expect_told(0, place.eave(faulty + "1:29:nan-gradient"),
              {"step 29 is not finite", "back to the checkpoint of step 28 ", "went back to a checkpoint 1 time"});
  EXPECT_EQ(place.read("run/model.safetensors"), expected);
  EXPECT_EQ(json_in(place, "run/summary.json").at("rollbacks"), 1);
  expect_told(76, place.eave(faulty + "1:1:nan-loss"), {"there is no checkpoint to go back to"});
}

TEST(Rollback, ends_a_run_that_comes_to_the_same_again) {
  const Place place;
  expect_told(76,
              place.eave(quick(std::string(kTwoThatMayRollBack) +
                               "--model \"dense 16; relu; dense 16; dense classes\" --epochs 20 --lr 2 "
                               "--checkpoint-every 2 --on-nonfinite rollback")),
              {"back to the checkpoint", "once, and diverged again"});
}

TEST(Rollback, needs_checkpoints) {
  const Place place;
  expect_told(64, place.eave("train --on-nonfinite rollback"), {"--run-dir"});
}

}  // namespace
}  // namespace eave
