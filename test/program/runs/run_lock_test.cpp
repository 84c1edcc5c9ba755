// Tests two runs that use one run directory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "test/program/expectations.h"

namespace eave {
namespace {

constexpr const char* kSlow = " --epochs 1000 --slow-rank 0:100x";

// A job in the background. The destructor kills it.
class Running {
 public:
  Running(const Place& place, const std::string& words) : place_(place) {
    const Ended started = place.run(program() + " " + words + " >running 2>&1 & echo $!");
    number_ = started.output.substr(0, started.output.find('\n'));
  }
  ~Running() { kill(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  const std::string& number() const { return number_; }
  void kill() const { place_.run("kill -9 " + number_ + "; while kill -0 " + number_ + "; do sleep 0.02; done"); }
  void wait_until_there_is(const std::string& file) const {
    for (int i = 0; i < 500 && !std::filesystem::exists(place_.path() / file); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(std::filesystem::exists(place_.path() / file)) << place_.read("running");
  }

 private:
  const Place& place_;
  std::string number_;
};

TEST(TwoRuns, in_one_directory_are_refused_with_the_owner_until_it_is_gone) {
  const Place place;
  const std::string words = "train" + std::string(kQuick) + "--run-dir run";
  {
    const Running first(place, "train" + std::string(kQuick) + "--run-dir run" + kSlow);
    ASSERT_NO_FATAL_FAILURE(first.wait_until_there_is("run/config.json"));
    std::string metrics;
    while (metrics.size() < 100) metrics = place.read("run/metrics.jsonl").substr(0, 100);
    for (const std::string more : {"", " --overwrite", " --resume --epochs 2"}) {
      expect_end(73, place.eave(words + more),
                 {"--run-dir run: another run is in it (host ", ", pid " + first.number() + ", for "});
    }
    EXPECT_EQ(place.read("run/metrics.jsonl").substr(0, 100), metrics);
  }
  EXPECT_TRUE(std::filesystem::exists(place.path() / "run/run.lock"));
  expect_end(0, place.eave(words + " --overwrite"),
             {"eave: warning: --run-dir run: took over the lock of a run that ended without freeing it"});
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/run.lock"));
}

TEST(TwoRuns, that_start_at_once_with_resume_auto_are_never_told_to_resume) {
  const Place place;
  for (int round = 0; round < 5; ++round) {
    place.write("start_all", "for i in 1 2 3 4 5 6; do { " + program() + " train" + kQuick +
                                 "--run-dir run --resume auto >$i.out 2>$i.err; echo $? >$i.code; } & done; wait; "
                                 "cat *.code; cat *.err >&2; rm -rf run");
    const Ended all = place.run("sh start_all");
    expect_parts(all.output, {"0\n"});
    EXPECT_EQ(all.output.find_first_not_of("073\n"), std::string::npos) << all.output << all.errors;
    EXPECT_EQ(all.errors.find("give --resume"), std::string::npos) << all.errors;
  }
}

// Waits for the end of a job in the background, whose output is in the file `running`.
void wait_for_words(const Place& place, const std::string& words) {
  for (int i = 0; i < 1000 && place.read("running").find(words) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_NE(place.read("running").find(words), std::string::npos) << place.read("running");
}

TEST(TwoRuns, of_which_one_took_the_place_of_the_other_keep_their_own_files) {
  for (const std::string replace : {"mv run before", "ln -sfn second cur"}) {
    const Place place;
    const std::string name = replace.starts_with("mv") ? "run" : "cur";
    place.run("sh -c 'mkdir first second; ln -s first cur'");
    const Running first(place, quick("--epochs 2 --shape-compute 60ms --checkpoint-every 3 --run-dir " + name));
    ASSERT_NO_FATAL_FAILURE(first.wait_until_there_is(name + "/checkpoint/step-000003"));
    place.run(replace);
    expect_end(0, place.eave(quick("--seed 5 --checkpoint-every 2 --run-dir " + name)));
    const std::string model = place.read(name + "/model.safetensors"), summary = place.read(name + "/summary.json");
    wait_for_words(place, "eave: --run-dir " + name + ": the run's directory was replaced");
    EXPECT_NE(place.read("running").find("could not be written: "), std::string::npos) << place.read("running");
    EXPECT_EQ(place.read(name + "/model.safetensors"), model);
    EXPECT_EQ(place.read(name + "/summary.json"), summary);
    expect_end(0, place.eave(quick("--seed 5 --checkpoint-every 2 --epochs 2 --resume auto --run-dir " + name)));
  }
}

TEST(TwoRuns, of_a_comparison_are_refused_with_the_owner) {
  const Place place;
  const std::string one =
      "compare --communicators easgd:tau=2 --ranks 2 --transport threads --batch 8 --output all --seeds 1 "
      "--data synthetic --synthetic-samples 97 --synthetic-test-samples 23 --synthetic-size 8 "
      "--model 'flatten; dense classes'";
  place.run("sh -c 'mkdir all; (flock 9; exec sleep 20) 9>all/compare.lock & echo $! >holder'");
  for (int i = 0; i < 200 && !std::filesystem::exists(place.path() / "all/compare.lock"); ++i) ::usleep(10000);
  ::usleep(100000);
  expect_end(73, place.eave(one), {"--output all: another run that has just begun is in it"});
  place.run("sh -c 'kill $(cat holder)'");
}

TEST(Run, that_fails_at_its_start_frees_its_directory) {
  const Place place;
  place.write("run/mine", "x");
  expect_end(73, place.eave("train" + std::string(kQuick) + "--run-dir run"));
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/run.lock"));
}

}  // namespace
}  // namespace eave
