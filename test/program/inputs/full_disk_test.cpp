// Tests full disks, and readers that close the pipe.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

namespace eave {
namespace {

TEST(Output, that_cannot_be_printed_is_told_in_the_end_with_74) {
  const Place place;
  const std::string words = quick("--run-dir run --overwrite");
  const Ended full = expect_end(74, place.run("sh -c 'exec \"$@\" >/dev/full' sh " + program() + " " + words),
                                {"eave: cannot write to standard output"});
  EXPECT_FALSE(place.read("run/summary.json").empty());
  EXPECT_FALSE(place.read("run/model.safetensors").empty());
  EXPECT_EQ(place.run("sh -c 'exec \"$@\" >/dev/full 2>&1' sh " + program() + " " + words).code, 74);
  const Ended errors = place.run("sh -c 'exec \"$@\" 2>/dev/full' sh " + program() + " " + words);
  EXPECT_EQ(errors.code, 0) << "a failing log";
}

TEST(Output, whose_reader_has_left_does_not_end_a_run) {
  const Place place;
  const Ended ended = place.run("sh -c '{ \"$@\" 2>&1; echo $? >code; } | true' sh " + program() + " " +
                                quick("--run-dir run --progress lines --evaluate-every 0.2"));
  EXPECT_EQ(place.read("code"), "0\n") << ended.errors;
  EXPECT_FALSE(place.read("run/summary.json").empty());
}

// If eave did not guard against it, config.json would get the closed stream's descriptor, and the table of ranks would
// land in it.
TEST(Output, to_a_closed_stream_goes_nowhere) {
  const Place place;
  expect_end(0, place.run("sh -c 'exec \"$@\" <&- >&- 2>&-' sh " + program() + " " +
                          quick("--run-dir run --trace --tensorboard")));
  for (const auto& entry : std::filesystem::directory_iterator(place.path() / "run")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(place.read("run/" + entry.path().filename().string()).find("samples/s "), std::string::npos) << entry;
  }
}

// A limit on the size of files stands in for a full disk. As on many full disks, small files still fit.
TEST(FullDisk, ends_no_training_and_keeps_the_results_that_fit) {
  const Place place;
  for (const std::string more : {"", "--transport threads --ranks 2 "}) {
    const std::string words =
        quick(more + "--run-dir run --overwrite --checkpoint off --epochs 20 --tensorboard --trace");
    const Ended ended = expect_end(74, place.run("sh -c 'ulimit -f 16; exec \"$@\"' sh " + program() + " " + words),
                                   {"run/trace.json", "eave: warning: cannot write run/metrics.jsonl: File too large",
                                    "eave: warning: metrics.jsonl lacks "});
    EXPECT_FALSE(place.read("run/summary.json").empty());
    expect_parts(ended.output, {"test accuracy"});
    EXPECT_NO_THROW(records_of(place)) << "a line is torn";
  }
}

// Runs the program with a limit of 0 on the size of files. Its output goes through a pipe, because the limit also holds
// for the files that tests keep output in.
Ended without_files(const Place& place, const std::string& words) {
  return place.run("sh -c '(ulimit -f 0; \"$@\" 2>&1; echo code $?) | cat' sh " + program() + " " + words);
}

// Once, a failed export left its directory, and the second export then ended with 73.
TEST(FullDisk, leaves_nothing_of_an_export_that_failed_and_names_the_limit) {
  const Place place;
  expect_end(0, place.eave(quick("--run-dir run")));
  for (int time = 0; time < 2; ++time) {
    const std::string said = without_files(place, "export run --npy arrays/").output;
    expect_parts(said, {"code 74", "File too large; a limit on the size of files"});
    EXPECT_FALSE(std::filesystem::exists(place.path() / "arrays"));
  }
  expect_end(0, place.eave("export run --npy arrays/"));
  const std::string locked = without_files(place, quick("--run-dir other")).output;
  expect_parts(locked, {"code 74", "cannot write its lock: File too large; a limit on the size of files"});
  EXPECT_EQ(place.eave(quick("--run-dir other")).code, 0) << "the same again, without the limit";
}

// A limit on the size of files stands in for a full disk. The model fits, but no checkpoint does.
TEST(RequiredCheckpoint, on_a_full_disk_ends_the_run_with_74_and_else_it_warns) {
  const Place place;
  const auto train = [&](const std::string& more) {
    return place.run(
        "sh -c 'ulimit -f 60; exec \"$@\"' sh " + program() + " " +
        quick("--transport threads --ranks 2 --run-dir run --checkpoint-every 2 --log-every 100 --overwrite " + more +
              "--model \"flatten; dense 64; dense classes\""));
  };
  expect_told(74, train(""), {"could not be written", "run/checkpoint", "training goes on", "test accuracy"});
  EXPECT_TRUE(std::filesystem::exists(place.path() / "run/summary.json"));
  expect_told(74, train("--require-checkpoint "), {"could not be written", "run/checkpoint"});
  EXPECT_FALSE(std::filesystem::exists(place.path() / "run/summary.json"));
}

}  // namespace
}  // namespace eave
