// Tests what the program prints, and what it says about the source of option values.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "test/program/expectations.h"

namespace eave {
namespace {

TEST(Help, version_and_configuration_are_printed_once_on_any_number_of_ranks) {
  const Place place;
  for (const std::string words : {"--help", "--version", "train --help", "train --print-config", "summary --help",
                                  "report --help", "watch --help", "plan --help", "bench-comm --help"}) {
    const Ended alone = expect_end(0, place.eave(words));
    EXPECT_FALSE(alone.output.empty()) << words;
    for (int ranks : {2, 4}) {
      if (!has_mpirun() || (ranks == 4 && words != "--help")) continue;
      const Ended together = expect_end(0, place.eave(words, {ranks}));
      EXPECT_EQ(together.output, alone.output) << words;
      EXPECT_EQ(together.errors, "") << words;
    }
  }
}

// Returns "name = value" of each line that sets an option, without the comment that names its source.
std::string values_in(const std::string& configuration) {
  std::string values;
  std::istringstream lines(configuration);
  for (std::string line; std::getline(lines, line);) {
    const std::string value = line.substr(0, line.find("  #"));
    if (!value.empty() && value[0] != '#') values += value.substr(0, value.find_last_not_of(' ') + 1) + "\n";
  }
  return values;
}

TEST(Configuration, that_was_printed_reads_back_the_same_and_trains) {
  const Place place;
  const std::string words = "train" + std::string(kQuick) + "--communicator easgd --tau 3 --flip --max-steps 2";
  const Ended printed = expect_end(0, place.eave(words + " --print-config"));
  place.write("run.ini", printed.output);
  const Ended again = place.eave("train --config run.ini --print-config");
  EXPECT_EQ(values_in(again.output), values_in(printed.output));
  EXPECT_NE(values_in(printed.output).find("\ntau = 3\n"), std::string::npos) << printed.output;
  EXPECT_NE(values_in(printed.output).find("\nflip = on\n"), std::string::npos) << printed.output;
  expect_parts(again.output, {"# file run.ini"});
  expect_end(0, place.eave("train --config run.ini"));
}

TEST(Configuration, of_the_command_line_goes_before_environment_file_and_default) {
  const Place place;
  place.write("run.ini", "lr = 0.1\nseed = 10\nbatch = 100\n");
  const Ended printed =
      place.eave("train --config run.ini --batch 300 --print-config", {0, "EAVE_BATCH=200 EAVE_SEED=20"});
  const std::string values = values_in(printed.output);
  for (const std::string line : {"batch = 300\n", "seed = 20\n", "lr = 0.1\n"}) {
    EXPECT_NE(values.find(line), std::string::npos) << line << printed.output;
  }
  expect_parts(printed.output, {"# momentum = 0.9", "# environment EAVE_SEED"});
}

TEST(Start, shows_every_rank_the_equation_and_each_warning_once) {
  const Place place;
  const int ranks = static_cast<int>(std::thread::hardware_concurrency()) + 1;  // more than cores
  const Ended ended =
      expect_end(0, place.eave("train" + std::string(kQuick) +
                               "--communicator easgd --alpha 1.5 --tau 1 --max-steps 2 --transport threads --ranks " +
                               std::to_string(ranks)));
  EXPECT_EQ(count_of(ended.errors, "eave: warning: "), 2) << ended.errors;
  expect_parts(ended.errors, {std::to_string(ranks) + " ranks", "alpha"});
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_NE(
        ended.output.find("\n" + std::string(4 - std::to_string(rank).size(), ' ') + std::to_string(rank) + "   "),
        std::string::npos)
        << ended.output;
  expect_parts(ended.output, {"alpha = 1.5"});
  EXPECT_EQ(count_of(ended.output, "test accuracy"), 1) << ended.output;
  const Ended silent =
      expect_end(0, place.eave("train" + std::string(kQuick) +
                               "--communicator easgd --alpha 1.5 --tau 1 --allow-unstable --max-steps 2"));
  EXPECT_EQ(silent.errors, "");
}

TEST(Summary, of_a_run_that_stops_at_an_accuracy_tells_its_own_steps) {
  const Place place;
  const std::string words = "train" + std::string(kQuick) + "--progress off --epochs 5 --run-dir run --overwrite ";
  const Ended stopped = expect_end(0, place.eave(words + "--stop-at-accuracy 1e-9"));
  const auto summary = json_in(place, "run/summary.json");
  EXPECT_EQ(summary.at("epochs"), 1.0);
  EXPECT_EQ(summary.at("steps"), summary.at("evaluation").at("step"));
  expect_parts(stopped.output, {"was reached, in"});
  const Ended whole = expect_end(0, place.eave(words + "--stop-at-accuracy 1"));
  EXPECT_EQ(json_in(place, "run/summary.json").at("epochs"), 5.0);
  expect_parts(whole.output, {"was not reached, in"});
}

TEST(Output, that_programs_read_has_standard_output_to_itself) {
  const Place place;
  expect_end(0, place.eave(quick("--transport threads --ranks 2 --epochs 10 --log-every 1 --run-dir run")));
  for (const std::string command : {"summary run", "plan run", "suggest run"}) {
    const Ended ended = place.eave(command + " --json /dev/stdout");
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_NO_THROW(nlohmann::json::parse(ended.output)) << command << ended.output;
    EXPECT_EQ(place.eave(command + " --json file").output, ended.errors) << command;
  }
  const Ended page = place.eave("report run --html /dev/stdout --csv table");
  EXPECT_TRUE(page.output.starts_with("<!")) << page.output.substr(0, 200);
  EXPECT_NE(page.errors.find("wrote ./table"), std::string::npos) << page.errors;
}

// Under mpirun all ranks share one standard error, so only rank 0 may write progress.
TEST(Progress, is_that_of_rank_0_in_plain_lines_where_there_is_no_terminal) {
  const Place place;
  const std::string words = "train" + std::string(kQuick) + "--progress auto --evaluate-every 0.5";
  for (int ranks : {0, 2}) {
    if (ranks > 0 && !has_mpirun()) continue;
    const Ended ended = expect_end(0, place.eave(words, {ranks}));
    EXPECT_EQ(count_of(ended.errors, "test accuracy"), 2) << ended.errors;
    EXPECT_EQ(ended.errors.find_first_of("\r\033"), std::string::npos) << ended.errors;
  }
}

TEST(Progress, as_a_bar_moves_by_the_clock_and_leaves_no_trace) {
  const Place place;
  const std::string words = "train" + std::string(kQuick) + "--progress bar --log-every 1000000 --run-dir run ";
  const auto start = std::chrono::steady_clock::now();
  const Ended ended = place.eave(words + "--epochs 1000000 --evaluate-every 1000000 --stop-after-time 3s");
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const auto summary = json_in(place, "run/summary.json");
  const double seconds = summary.at("seconds");
  ASSERT_GT(seconds, 0.5);
  EXPECT_GE(static_cast<double>(count_of(ended.errors, "\r[")), seconds / 0.2 / 2) << "half, where there is much to do";
  EXPECT_LE(static_cast<double>(count_of(ended.errors, "\r[")), wall / 0.2 + 1) << "its clock runs in pauses too";
  // The loss of this run is finite for two steps only.
  expect_end(76,
             place.eave(words + "--shape-compute 300ms --batch 97 --synthetic-size 12 --lr 500000 --overwrite "
                                "--epochs 5 --evaluate-every 5 --on-nonfinite abort"),
             {"\r[", "\r\033[Keave: training diverged"});
}

}  // namespace
}  // namespace eave
