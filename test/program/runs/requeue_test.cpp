// A batch job gives the same command again and again, however its run ended. Signals ask the run to leave.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

namespace eave {
namespace {

using Json = nlohmann::json;

constexpr const char* kTwo = "--transport threads --ranks 2 --run-dir run ";

std::map<std::string, int> lines_of(const Place& place) {
  std::map<std::string, int> lines;
  for (const Json& record : records_of(place)) ++lines[record.at("type")];
  return lines;
}

// Makes the run look as if it had been killed after its last checkpoint.
void forget_the_end(const Place& place) {
  std::filesystem::remove(place.path() / "run/summary.json");
  std::filesystem::remove(place.path() / "run/model.safetensors");
}

TEST(ResumeAuto, of_a_run_that_was_stopped_and_killed_before_its_summary_trains_no_further) {
  const std::vector<std::pair<std::string, std::string>> stops = {
      {"--stop-at-accuracy 0.05 --evaluate-every 0.5 ", "--stop-at-accuracy 1 --evaluate-every 0.5 "},
      {"--stop-after-bytes 1k ", "--stop-after-bytes 1GB "},
      {"--stop-after-time 1us ", "--stop-after-time 1h "}};
  for (const auto& [stop, more] : stops) {
    const Place place;
    const std::string words = quick(std::string(kTwo) + "--epochs 4 --resume auto ");
    expect_told(0, place.eave(words + stop));
    const std::string model = place.read("run/model.safetensors");
    const std::map<std::string, int> lines = lines_of(place);
    EXPECT_LT(lines.at("step"), 56) << stop;
    forget_the_end(place);
    expect_told(0, place.eave(words + stop), {"results in run"});
    EXPECT_EQ(place.read("run/model.safetensors"), model) << stop;
    EXPECT_EQ(lines_of(place).at("step"), lines.at("step")) << stop;
    EXPECT_EQ(lines_of(place).at("evaluation"), lines.at("evaluation")) << stop;
    expect_told(0, place.eave(words + stop), {"nothing is left to do"});
    expect_told(64, place.eave(quick(std::string(kTwo) + "--epochs 4 --resume on ") + stop), {"ended there as"});
    expect_told(0, place.eave(words + more), {"resumed        after step"});
    EXPECT_EQ(lines_of(place).at("step"), 56) << more;
  }
}

TEST(ResumeAuto, of_a_run_that_has_diverged_says_so_and_ends_with_76) {
  const Place place;
  const std::string words = quick(std::string(kTwo) + "--epochs 9 --evaluate-every 0 --lr 500000 ");
  expect_told(76, place.eave(words), {"training diverged"});
  for (const std::string how : {"auto", "elastic"}) {
    const Ended ended = place.eave(words + "--resume " + how);
    expect_told(76, ended, {"has diverged before its first checkpoint (training diverged: ", "--overwrite"});
    EXPECT_EQ(ended.messages().size(), 1u);
  }
}

TEST(ResumeAuto, of_a_run_that_has_ended_without_a_checkpoint_says_so) {
  const Place place;
  expect_told(0, place.eave(quick(std::string(kTwo) + "--checkpoint off")));
  for (const std::string how : {"auto", "elastic"}) {
    expect_told(0, place.eave(quick(std::string(kTwo) + "--resume " + how)), {"has ended; nothing is left to do"});
    expect_told(66, place.eave(quick(std::string(kTwo) + "--epochs 2 --resume " + how)),
                {"has ended, with other options than now", "--overwrite"});
  }
}

TEST(ResumeElastic, begins_goes_on_and_ends_by_the_same_command) {
  const Place place;
  const std::string words =
      quick("--run-dir run --epochs 2 --checkpoint-every 5 --resume elastic --transport threads ");
  expect_told(0, place.eave(words + "--ranks 2"), {"results in run"});
  const std::string model = place.read("run/model.safetensors");
  expect_told(0, place.eave(words + "--ranks 2"), {"nothing is left to do"});
  expect_told(0, place.eave(words + "--ranks 3"), {"nothing is left to do"});
  forget_the_end(place);
  expect_told(0, place.eave(words + "--ranks 2"), {"results in run"});
  EXPECT_EQ(place.read("run/model.safetensors"), model);
  forget_the_end(place);
  expect_told(0, place.eave(words + "--ranks 3"), {"results in run"});
}

TEST(Resumption, with_a_broken_config_json_says_where_and_what_to_do) {
  const Place place;
  expect_told(0, place.eave(quick(std::string(kTwo))));
  for (const auto& [content, where] : std::vector<std::pair<std::string, std::string>>{
           {"{\n \"batch\": \"8\",\n \"lr\" 3}\n", "line 3 is no JSON"}, {"[1, 2]", "it is no list of options"}}) {
    place.write("run/config.json", content);
    const Ended ended = place.eave(quick(std::string(kTwo) + "--epochs 2 --resume"));
    expect_told(65, ended, {"run/config.json", where, "another directory"});
    EXPECT_FALSE(ended.says("json.exception")) << ended.errors;
  }
}

// Six steps on three ranks use as many samples as nine steps on two ranks.
TEST(ResumeElastic, with_fewer_ranks_ends_what_more_had_done) {
  const Place place;
  const std::string words = quick("--run-dir run --epochs 2 --max-steps 6 --resume elastic --transport threads ");
  expect_told(0, place.eave(words + "--ranks 3"), {"results in run"});
  const std::string model = place.read("run/model.safetensors");
  forget_the_end(place);
  expect_told(0, place.eave(words + "--ranks 2"), {"results in run"});
  EXPECT_EQ(place.read("run/model.safetensors"), model);
}

// Starts the program, sends SIGUSR1 `seconds` after it has set its signal handler, and waits for its end. Before the
// handler is set, the signal would end the program.
Ended signalled(const Place& place, const std::string& launcher, const std::string& words, const std::string& seconds) {
  return place.run("timeout -k 5 30 sh -c '" + launcher + " \"$0\" \"$@\" & p=$!; " +
                   "until grep -qs \"^SigCgt:.*[2367abef]..$\" /proc/$p/status; do sleep 0.005; done; sleep " +
                   seconds + "; kill -USR1 $p; wait $p' " + program() + " " + words);
}

std::string long_run(const std::string& more) { return quick("--epochs 100000 --evaluate-every 1000 " + more); }

TEST(Sigusr1, in_the_first_moments_leaves_with_75) {
  for (const std::string seconds : {"0", "0.02", "0.1", "0.3"}) {
    const Place place;
    expect_told(75, signalled(place, "", long_run(kTwo), seconds), {"left on request after step"});
    expect_told(0, place.eave(long_run(std::string(kTwo) + "--stop-after-time 1us --resume auto")));
  }
}

TEST(Sigusr1, without_checkpoints_is_told_once_and_ends_nothing) {
  for (const std::string more : {"--log-every 1000 ", "--log-every 1000 --run-dir run --checkpoint off "}) {
    const Place threads, processes;
    std::vector<Ended> all = {
        signalled(threads, "", long_run("--transport threads --ranks 2 --stop-after-time 1s " + more), "0.3")};
    if (has_mpirun()) all.push_back(signalled(processes, mpirun(2), long_run("--stop-after-time 3s " + more), "1.5"));
    for (const Ended& ended : all) {
      expect_told(0, ended, {"SIGUSR1 asks for a checkpoint, but this run keeps none"});
      EXPECT_EQ(count_of(ended.errors, "SIGUSR1"), 1u) << ended.errors;
    }
  }
}

}  // namespace
}  // namespace eave
