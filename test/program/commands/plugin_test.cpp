// Runs the program with a communicator from a shared object.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

namespace eave {
namespace {

const std::string kSignVote = "'" SIGN_VOTE "'";  // quoted for a shell
const std::string kPlugin = " --plugin " + kSignVote + " --communicator sign-vote ";
const std::string kFaultyCenter = " --plugin '" FAULTY_CENTER "' --communicator faulty-center --transport threads ";

std::string model_by_vote(const Place& place, const std::string& words, int mpirun_ranks = 0) {
  expect_end(0, place.eave(quick("--run-dir run " + kPlugin + words), {mpirun_ranks}));
  return place.read("run/model.safetensors");
}

TEST(PluginOfProgram, trains_resumes_and_says_its_equation) {
  const Place place;
  const std::string threads = " --transport threads --ranks 2 ";
  const std::string whole = model_by_vote(place, "--overwrite --epochs 3" + threads);
  expect_parts(place.read("run/metrics.jsonl"), {"sign(sum_i sign(g_i)), s = 0.01, p = 2"});
  model_by_vote(place, "--overwrite --epochs 1" + threads);
  EXPECT_EQ(model_by_vote(place, "--resume --epochs 3" + threads), whole);
  EXPECT_NE(model_by_vote(place, "--overwrite --epochs 3 --vote-scale 0.02" + threads), whole);
  if (has_mpirun()) {
    EXPECT_EQ(model_by_vote(place, "--overwrite --epochs 3", 2), whole);
  }
}

TEST(PluginOfProgram, is_taken_from_the_environment_and_stands_in_the_help) {
  const Place place;
  const Ended help = place.eave("train --help", {0, "EAVE_PLUGIN=" + kSignVote});
  expect_parts(help.output, {"sign-vote", "--vote-scale"});
  EXPECT_EQ(place.eave("help train", {0, "EAVE_PLUGIN=" + kSignVote}).output, help.output);
  EXPECT_EQ(place.eave("help train --plugin " + kSignVote).output, help.output);
  expect_end(64, place.eave("help train --plugin " + kSignVote + " --tau 3"), {"--tau"});
  expect_end(64, place.eave("help watch --plugin " + kSignVote), {"unexpected word '--plugin'"});
  expect_end(66, place.eave("help train --plugin missing.so"), {"missing.so", "cannot be opened"});
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Ended known = place.eave("help --format " + shell + " --plugin " + kSignVote);
    expect_parts(known.output, {"sign-vote", "vote-scale"});
    EXPECT_EQ(place.eave("help --format " + shell, {0, "EAVE_PLUGIN=missing.so"}).output,
              place.eave("help --format " + shell).output);
  }
  expect_end(66, place.eave("help --format bash --plugin missing.so"), {"missing.so", "cannot be opened"});
  expect_end(0, place.eave("help", {0, "EAVE_PLUGIN=missing.so"}));
  expect_end(0, place.eave(quick("--communicator sign-vote"), {0, "EAVE_PLUGIN=" + kSignVote}));
}

TEST(PluginOfProgram, is_compared_with_others) {
  const Place place;
  expect_output(0,
                place.eave("compare --plugin " + kSignVote +
                           " --communicators allreduce,sign-vote:vote-scale=0.02 --output both --transport threads "
                           "--ranks 2 --epochs 1 --data synthetic --synthetic-size 8 --synthetic-samples 97 "
                           "--synthetic-test-samples 20 --model 'dense classes' --batch 7"),
                {"sign-vote"});
}

TEST(PluginOfProgram, is_planned_with_others) {
  const Place place;
  model_by_vote(place, "--epochs 8 --transport threads --ranks 2");
  const std::string plan = "plan run --ranks 2 --ranks-per-host 1 --json plan.json --communicators ";
  const Ended planned = expect_output(0, place.eave(plan + "easgd,sign-vote --plugin " + kSignVote),
                                      {"from the bytes that the run sent"});
  const auto read = json_in(place, "plan.json");
  ASSERT_EQ(read.at("plans").size(), 2u);
  EXPECT_EQ(read.at("measured").at("communicator"), "sign-vote");
  EXPECT_EQ(read.at("plans")[1].at("communicator"), "sign-vote");
  EXPECT_GT(read.at("plans")[1].at("rows")[0].at("bytes_per_rank").get<double>(), 0);
  // Without the plug-in the run is planned with eave's own methods, and its own is not known.
  const std::string left_out = "the run's own method, sign-vote, is left out; to see it too, give --plugin ";
  expect_end(0, place.eave(plan + "easgd"), {left_out});
  const Ended suggested = place.eave("suggest run --ranks 2");
  expect_end(0, suggested, {left_out});
  EXPECT_EQ(suggested.output.find("--plugin"), std::string::npos) << suggested.output;
  expect_end(64, place.eave(plan + "sign-vote"), {"'sign-vote' cannot be planned"});
}

// Its option for the steps between exchanges is not called tau.
TEST(PluginOfProgram, is_planned_with_the_period_that_its_run_had) {
  const Place place;
  const std::string plugin = " --plugin '" EVERY "' ", threads = " --transport threads --ranks 2 --evaluate-every 0 ";
  const std::string plan = " --ranks 2 --ranks-per-host 1 --json plan.json --communicators every" + plugin;
  const auto tau = [&] { return json_in(place, "plan.json").at("plans")[0].at("tau"); };
  const std::string words = "--communicator every --every 4 --epochs 20" + plugin + threads;
  expect_end(0, place.eave(quick("--run-dir each " + words)));
  const Ended planned = expect_output(0, place.eave("plan each" + plan), {"every, tau 4"});
  EXPECT_EQ(planned.output.find("every step"), std::string::npos) << planned.output;
  EXPECT_EQ(tau(), 4);
  expect_end(0, place.eave(quick("--log-every 6 --run-dir some " + words)));
  expect_end(0, place.eave("plan some" + plan));
  EXPECT_EQ(tau(), 4);
  expect_end(0, place.eave(quick("--run-dir other --epochs 20" + threads)));
  expect_end(0, place.eave("plan other" + plan),
             {"the plan lets every exchange in every step: it has no option --tau"});
  EXPECT_EQ(tau(), 1);
}

TEST(PluginOfProgram, that_cannot_be_used_is_refused_with_one_message) {
  const Place place;
  place.write("train.ini", "plugin = " SIGN_VOTE "\ncommunicator = sign-vote\nvote-scale = 2\n");
  Runs runs;
  for (const Case& wrong : std::vector<Case>{
           {quick("--plugin missing.so"),
            66,
            {"missing.so", "cannot be opened", "expected the path of a shared object"}},
           {quick("--plugin train.ini"), 64, {"train.ini", "cannot be opened: it is text that begins with 'plugin = "}},
           {quick("--config train.ini"), 64, {"--plugin", "not taken from a file", "EAVE_PLUGIN"}},
           {quick("--plugin a.so,,b.so"), 64, {"--plugin", "item 2 is empty"}},
           {quick("--plugin '" OTHER_TAU "'"), 64, {"--plugin", "--tau", "do not go with eave's own"}},
           {quick("--plugin '" OTHER_SEED "'"), 64, {"communicator 'other-seed' declares --seed, which is an option"}},
           {quick("--communicator sign-vote"), 64, {"sign-vote"}},
           {quick("--plugin " + kSignVote + " --vote-scale 2"), 64, {"--vote-scale", "has no effect with"}},
           {quick(""), 66, {"missing.so"}, "EAVE_PLUGIN=missing.so"}}) {
    start_all(runs, place, wrong);
  }
  runs.check(expect_one_message);
}

TEST(PluginOfProgram, another_file_does_not_go_on_with_a_run) {
  const Place place;
  std::filesystem::copy_file(SIGN_VOTE, place.path() / "moved.so");
  std::filesystem::copy_file(SIGN_VOTE, place.path() / "other.so");
  std::ofstream(place.path() / "other.so", std::ios::app) << "another file";
  const std::string words = "--run-dir run --communicator sign-vote --plugin ";
  expect_end(0, place.eave(quick(words + kSignVote)));
  expect_end(0, place.eave(quick("--epochs 2 --resume " + words + "moved.so")));
  expect_end(78, place.eave(quick("--epochs 3 --resume " + words + "other.so")),
             {"--resume: the plug-in other.so has changed since the run began", "give --allow-changed-plugin"});
  expect_end(64, place.eave(quick(words + "other.so --overwrite --allow-changed-plugin")), {"without --resume"});
  // Such a run goes on with the new file.
  expect_end(0, place.eave(quick("--epochs 3 --resume --allow-changed-plugin " + words + "other.so")));
  expect_end(0, place.eave(quick("--epochs 4 --resume " + words + "other.so")));
  expect_end(78, place.eave(quick("--epochs 5 --resume " + words + "moved.so")), {"has changed since the run began"});
}

// Its ranks exchange after steps 10 and 20. Three epochs are 21 steps, and the fourth one has no exchange.
TEST(PluginOfProgram, that_keeps_its_consensus_until_it_is_told_to_forget_it_resumes_the_trained_model) {
  const Place place;
  const auto train = [&](const std::string& words) {
    expect_end(0, place.eave(quick("--run-dir run" + kFaultyCenter + "--ranks 2 " + words)));
    return place.read("run/model.safetensors");
  };
  const std::string whole = train("--epochs 4");
  train("--overwrite --epochs 3");
  EXPECT_EQ(train("--resume --epochs 4"), whole);
}

TEST(PluginOfProgram, that_breaks_its_contract_is_named_with_the_call) {
  const Place place;
  const std::string tell = "tell whoever wrote the plug-in";
  Runs runs;
  const auto expect = [&](const std::string& fault, const Texts& says) {
    const Case wrong{quick("--ranks 2" + kFaultyCenter + "--fault " + fault), 70, says};
    runs.start(wrong, wrong.words, [&place, words = wrong.words] { return place.eave(words); });
  };
  const std::string name = "communicator 'faulty-center' (plug-in " FAULTY_CENTER "): ";
  expect("consensus", {name + "consensus(): rank 1 has other values than rank 0", tell});
  expect("pull", {name + "before_update(): the center of its Pull has 3 values, and the model ", tell});
  expect("costs", {name + "costs(): its seconds_waiting are -1", tell});
  expect("micro-batches", {name + "micro_batches(): it returns 3; with 2 ranks, return 0, or", tell});
  expect("replicated",
         {name + "replicated() returns slices of ", " values on rank 0, and no slices on rank 1; all", tell});
  runs.check([](const Ended& ended, const Case& wrong, const std::string&) { expect_end(70, ended, wrong.says); });
}

TEST(PluginOfProgram, whose_state_lacks_the_center_does_not_go_on_untrained) {
  const Place place;
  const std::string words = "--run-dir run" + kFaultyCenter + "--ranks 2 --fault no-state ";
  expect_end(0, place.eave(quick(words + "--epochs 2")));
  expect_end(70, place.eave(quick(words + "--resume --epochs 3")),
             {"communicator 'faulty-center'", "its consensus is another one than was saved, so state() does not"});
}

TEST(PluginOfProgram, whose_common_state_has_the_size_of_the_ranks_does_not_go_on_with_others) {
  const Place place;
  const std::string words = "--run-dir run" + kFaultyCenter + "--fault common-size --ranks ";
  expect_end(0, place.eave(quick(words + "2")));
  expect_end(0, place.eave(quick(words + "2 --resume --epochs 2")));
  expect_end(70, place.eave(quick(words + "3 --resume elastic --epochs 3")),
             {"communicator 'faulty-center'", "common_state(): communicator.2 has 3 values here"});
}

TEST(PluginOfProgram, is_asked_for_if_it_is_missing) {
  const Place place;
  model_by_vote(place, "");
  const std::string resumed = "--run-dir run --communicator sign-vote --epochs 2 --resume";
  expect_end(64, place.eave(quick(resumed)),
             {"expected one of allreduce", "a method of your own needs --plugin FILE (the run in run has --plugin "});
  expect_end(64, place.eave(quick("--run-dir run --communicator vote --resume")), {"needs --plugin FILE\n"});
  expect_end(64, place.eave(quick("--communicator sign-vote --vote-scale 2")), {"needs --plugin FILE\n"});
}

TEST(PluginOfProgram, stands_as_a_comment_in_a_printed_configuration) {
  const Place place;
  const Ended printed = expect_end(0, place.eave(quick("--print-config" + kPlugin)));
  place.write("printed.ini", printed.output);
  expect_end(0, place.eave(quick("--config printed.ini"), {0, "EAVE_PLUGIN=" + kSignVote}));
}

TEST(PluginOfProgram, has_to_be_the_same_on_all_ranks) {
  if (!has_mpirun()) GTEST_SKIP() << "built without MPI";
  const Place place;
  std::filesystem::copy_file(SIGN_VOTE, place.path() / "other.so");
  std::ofstream(place.path() / "other.so", std::ios::app) << "another file";
  const std::string words = quick("--communicator sign-vote --plugin ");
  expect_end(78,
             place.run(mpirun(1) + " " + program() + " " + words + kSignVote + " : -np 1 " + program() + " " + words +
                       "other.so"),
             {"the plug-in file is "});
}

}  // namespace
}  // namespace eave
