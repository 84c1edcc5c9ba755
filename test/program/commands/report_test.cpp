// Tests `eave report` on runs that `eave train` has just made.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "test/program/expectations.h"

namespace eave {
namespace {

const std::string kTwoRanks = std::string(kQuick) + "--transport threads --ranks 2 --evaluate-every 0.5 ";

void train(const Place& place, const std::string& words, const std::string& directory) {
  expect_end(0, place.eave("train" + kTwoRanks + words + " --run-dir " + directory));
}

class Report : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    place_ = std::make_unique<Place>();
    for (const std::string seed : {"1", "2"}) {
      train(*place_, "--communicator allreduce --seed " + seed, "runs/allreduce-" + seed);
      train(*place_, "--communicator easgd --tau 3 --seed " + seed, "runs/easgd-" + seed);
    }
  }
  static void TearDownTestSuite() { place_.reset(); }
  static std::unique_ptr<Place> place_;
};

std::unique_ptr<Place> Report::place_;

TEST_F(Report, of_two_methods_and_two_seeds_has_sentences_tables_and_a_page) {
  const Ended ended =
      expect_end(0, place_->eave("report runs --csv variants.csv --runs-csv runs.csv --metrics-csv metrics.csv"));
  EXPECT_TRUE(ended.output.starts_with("With 2 ranks and batch 8 per rank, ")) << ended.output;
  expect_parts(ended.output, {"easgd tau=3", "2 of 2", "wrote runs/report.html\n"});
  const std::string page = place_->read("runs/report.html");
  expect_parts(page, {"\"method\":\"easgd tau=3\""});
  EXPECT_EQ(page.find("EAVE_DATA*/null"), std::string::npos);
  EXPECT_TRUE(place_->read("variants.csv").starts_with("method,"));
  expect_parts(place_->read("runs.csv"), {"easgd-2,"});
  expect_parts(place_->read("metrics.csv"), {"allreduce-1,evaluation,"});
}

TEST_F(Report, counts_the_bytes_and_seconds_that_summary_json_has) {
  expect_end(0, place_->eave("report runs/easgd-1 --metrics-csv one.csv --html none"));
  const auto summary = json_in(*place_, "runs/easgd-1/summary.json");
  const std::string text = place_->read("one.csv");
  const std::string last = text.substr(text.rfind("evaluation,"));
  std::istringstream cells(last);
  std::vector<std::string> values;
  for (std::string cell; std::getline(cells, cell, ',');) values.push_back(cell);
  EXPECT_EQ(std::stoll(values.at(1)), summary.at("steps").get<std::int64_t>());
  EXPECT_LE(std::stod(values.at(4)), summary.at("bytes_per_rank").get<double>());
  EXPECT_GE(std::stod(values.at(4)), 0.5 * summary.at("bytes_per_rank").get<double>());
}

TEST_F(Report, writes_the_page_where_it_is_told_or_not_at_all) {
  expect_end(0, place_->eave("report runs/easgd-1 runs/allreduce-1"));
  EXPECT_FALSE(place_->read("report.html").empty());
  expect_end(0, place_->eave("report --html=page.html runs/easgd-1"));
  EXPECT_FALSE(place_->read("page.html").empty());
  const Ended without = place_->eave("report runs/easgd-1 --html none");
  EXPECT_EQ(without.output.find("wrote"), std::string::npos);
  expect_end(73, place_->eave("report runs/easgd-1 --html missing/page.html"));
}

TEST_F(Report, has_the_name_of_the_working_directory_as_its_title) {
  expect_end(0, place_->run("env -C runs " + program() + " report . --html ../dot.html"));
  expect_parts(place_->read("dot.html"), {"\"title\":\"runs\""});
}

TEST_F(Report, goes_on_without_runs_that_it_cannot_read_and_fails_where_none_is_left) {
  place_->write("bad/torn/metrics.jsonl", "{\"type\":\"hea");
  expect_output(0, place_->eave("report runs/easgd-1 bad --html none"),
                {"left out: bad/torn: metrics.jsonl has no whole line"});
  // Flips one bit of an accuracy.
  std::string metrics = place_->read("runs/easgd-2/metrics.jsonl");
  const std::string before = R"("center":{"loss":)";
  const std::size_t number = metrics.find(R"("accuracy":0.)", metrics.find(before)) + 11;
  place_->write("flipped/metrics.jsonl", metrics.replace(number, 1, "8"));
  const Ended flipped = expect_output(0, place_->eave("report runs/easgd-1 flipped missing --html none"),
                                      {"left out: flipped: metrics.jsonl line ", "is damaged: center.accuracy is 8",
                                       "left out: missing: there is no such directory"});
  expect_end(65, place_->eave("report flipped missing --html none"));
  expect_end(65, place_->eave("report bad"), {"no run is left to report"});
}

TEST_F(Report, ends_with_the_code_of_the_cause_if_it_is_the_same_for_all_runs) {
  place_->write("torn/metrics.jsonl", "{\"type\":\"hea");
  expect_end(66, place_->eave("report missing gone"));
  expect_end(65, place_->eave("report missing torn"));
}

TEST_F(Report, takes_a_directory_of_runs_that_summary_and_plan_refuse) {
  for (const std::string command : {"summary runs", "plan runs"})
    expect_end(66, place_->eave(command),
               {"runs: it is a directory of runs; name a run in it, such as runs/allreduce-1"});
  expect_end(0, place_->eave("summary runs/allreduce-1 runs"), {"left out: runs: it is a directory of runs; "});
}

TEST_F(Report, names_the_file_that_it_may_not_read) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every file";
  place_->write("closed/metrics.jsonl", "");
  std::filesystem::permissions(place_->path() / "closed/metrics.jsonl", std::filesystem::perms::none);
  expect_end(74, place_->eave("report closed"), {"cannot read closed/metrics.jsonl: "});
}

TEST_F(Report, reads_what_stands_behind_two_dashes_as_directories) {
  place_->write("--bad/torn/metrics.jsonl", "{\"type\":\"hea");
  expect_output(0, place_->eave("report --html none -- runs/easgd-1 --bad"), {"left out: --bad/torn: "});
  expect_output(0, place_->eave("summary -- runs/easgd-1"), {"easgd"});
  expect_output(0, place_->eave("watch --once -- runs/easgd-1"), {"easgd"});
  expect_output(0, place_->eave("checkpoint ls -- runs/easgd-1"), {});
  expect_end(66, place_->eave("checkpoint ls -- --step"), {"--step"});
  expect_end(64, place_->eave("watch runs/easgd-1 -- runs/easgd-2"), {"unexpected word 'runs/easgd-2'"});
}

TEST_F(Report, and_its_like_say_of_a_run_that_is_no_directory_what_it_is) {
  std::filesystem::create_symlink("gone", place_->path() / "dangling");
  const std::string file = "runs/easgd-1/summary.json", why = "it is a file; give the run's directory, runs/easgd-1";
  for (const std::string command : {"summary ", "report --html none ", "plan "}) {
    expect_told(66, place_->eave(command + file), {why});
    expect_told(66, place_->eave(command + "dangling"), {"it is a symbolic link to gone, which is not there"});
  }
}

TEST_F(Report, refuses_what_it_does_not_understand) {
  expect_end(64, place_->eave("report"));
  expect_end(64, place_->eave("report runs --target 1.5"));
  expect_end(64, place_->eave("report runs --htlm x"));
  expect_end(64, place_->eave("report runs --csv"));
  expect_end(66, place_->eave("report missing"));
  expect_end(64, place_->eave("report runs --html none --title X"),
             {"--title X (command line): has no effect with --html none"});
  expect_end(64, place_->eave("report runs --html -"), {"give a file name, or /dev/stdout"});
  expect_end(64, place_->eave("compare --part 1/2 --title X"), {"has no effect with --part, which writes no page"});
  expect_end(0, place_->eave("report runs --html none", {0, "EAVE_BATCH=64"}));
}

}  // namespace
}  // namespace eave
