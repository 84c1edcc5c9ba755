// Tests full disks, and readers that close the pipe.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "test/program/program.h"

namespace eave {
namespace {

TEST(Output, that_cannot_be_printed_is_told_in_the_end_with_74) {
  const Place place;
  const std::string words = quick("--run-dir run --overwrite");
  const Ended full = place.run("sh -c '" + std::string() + "exec \"$@\" >/dev/full' sh " + program() + " " + words);
  EXPECT_EQ(full.code, 74) << full.errors;
  ASSERT_EQ(full.messages().size(), 1u) << full.errors;
  EXPECT_TRUE(full.says("eave: cannot write to standard output")) << full.errors;
  EXPECT_FALSE(place.read("run/summary.json").empty());
  EXPECT_FALSE(place.read("run/model.safetensors").empty());
  const Ended both = place.run("sh -c 'exec \"$@\" >/dev/full 2>&1' sh " + program() + " " + words);
  EXPECT_EQ(both.code, 74);
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
  const Ended ended = place.run("sh -c 'exec \"$@\" <&- >&- 2>&-' sh " + program() + " " +
                                quick("--run-dir run --trace --tensorboard"));
  EXPECT_EQ(ended.code, 0);
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
    const Ended ended = place.run("sh -c 'ulimit -f 16; exec \"$@\"' sh " + program() + " " + words);
    EXPECT_EQ(ended.code, 74) << ended.errors;
    ASSERT_EQ(ended.messages().size(), 1u) << ended.errors;
    EXPECT_TRUE(ended.says("run/trace.json")) << ended.errors;
    EXPECT_TRUE(ended.says("eave: warning: cannot write run/metrics.jsonl: File too large")) << ended.errors;
    EXPECT_TRUE(ended.says("eave: warning: metrics.jsonl lacks ")) << ended.errors;
    EXPECT_FALSE(place.read("run/summary.json").empty());
    EXPECT_NE(ended.output.find("test accuracy"), std::string::npos) << ended.output;
    std::istringstream lines(place.read("run/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
}

// Runs the program with a limit of 0 on the size of files. Its output goes through a pipe, because the limit also holds
// for the files that tests keep output in.
Ended without_files(const Place& place, const std::string& words) {
  return place.run("sh -c '(ulimit -f 0; \"$@\" 2>&1; echo code $?) | cat' sh " + program() + " " + words);
}

bool holds_text(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Once, a failed export left its directory, and the second export then ended with 73.
TEST(FullDisk, leaves_nothing_of_an_export_that_failed_and_names_the_limit) {
  const Place place;
  ASSERT_EQ(place.eave(quick("--run-dir run")).code, 0);
  for (int time = 0; time < 2; ++time) {
    const std::string said = without_files(place, "export run --npy arrays/").output;
    EXPECT_TRUE(holds_text(said, "code 74")) << said;
    EXPECT_TRUE(holds_text(said, "File too large; a limit on the size of files")) << said;
    EXPECT_FALSE(std::filesystem::exists(place.path() / "arrays"));
  }
  EXPECT_EQ(place.eave("export run --npy arrays/").code, 0);
  const std::string locked = without_files(place, quick("--run-dir other")).output;
  EXPECT_TRUE(holds_text(locked, "code 74")) << locked;
  EXPECT_TRUE(holds_text(locked, "cannot write its lock: File too large; a limit on the size of files")) << locked;
  EXPECT_EQ(place.eave(quick("--run-dir other")).code, 0) << "the same again, without the limit";
}

}  // namespace
}  // namespace eave
