// Compares tables of fixed metrics letter by letter with the files in golden/. Accuracies, seconds and bytes are chosen
// so that every mean is exact.
#include "report/text/report_tables.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "test/report/made_runs.h"

namespace eave {
namespace {

// Writes a comparison. One rank alone takes 16 s. Two ranks take 8 s with allreduce and 5 s with easgd. easgd has two
// learning rates, of which 0.3 is better by validation. One run was interrupted, and one directory is damaged.
void make_comparison(const MadeRuns& place) {
  make_seeds(place, "none",
             {.communicator = "none", .accuracies = {0.5, 0.75}, .validation = {0.5, 0.75}, .seconds = 16}, 2, 0);
  make_seeds(place, "allreduce",
             {.ranks = 2, .accuracies = {0.5, 0.75}, .validation = {0.5, 0.75}, .seconds = 8, .bytes = 4000}, 2, 0.125);
  MadeRun easgd{.communicator = "easgd",
                .ranks = 2,
                .accuracies = {0.75, 0.875},
                .validation = {0.5, 0.625},
                .seconds = 5,
                .bytes = 400,
                .settings = {{"tau", "10"}}};
  make_seeds(place, "easgd-slow", easgd, 2, 0);
  easgd.settings["lr"] = "0.3";
  easgd.validation = {0.5, 0.75};
  make_seeds(place, "easgd-fast", easgd, 2, 0);
  make_run(place, "easgd-torn",
           {.communicator = "easgd",
            .ranks = 2,
            .seed = 3,
            .accuracies = {0.5},
            .settings = {{"tau", "10"}, {"lr", "0.1"}},
            .finishes = false});
  place.write("old/metrics.jsonl", "{\"type\":\"header\",\"format\":0}\n");
}

std::string golden(const std::string& file) {
  std::ifstream stream(std::string(EAVE_GOLDEN_DIR) + "/" + file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class ReportTables : public testing::Test {
 protected:
  ReportTables() {
    make_comparison(place_);
    comparison_ = compare_runs(read_made(place_), {});
  }
  MadeRuns place_;
  Comparison comparison_;
};

TEST_F(ReportTables, say_on_the_terminal_what_fixed_metrics_give) {
  EXPECT_EQ(report_text(comparison_), golden("report.txt"));
}

TEST(ReportText, shows_intervals_that_four_figures_would_hide) {
  const MadeRuns place;
  make_seeds(place, "a", {.metric = {"perplexity", true}, .accuracies = {30, 17.3162}}, 3, 1e-5);
  make_seeds(place, "b", {.communicator = "easgd", .metric = {"perplexity", true}, .accuracies = {30, 17.3}}, 3, 0.1);
  const std::string text = report_text(compare_runs(read_made(place), {}));
  EXPECT_TRUE(text.find("17.316210 +- 0.000025") != std::string::npos) << text;
  EXPECT_TRUE(text.find("17.4 +- 0.25") != std::string::npos) << text;
}

TEST(ReportText, shows_wide_intervals_without_an_exponent) {
  const MadeRuns place;
  make_seeds(place, "a", {.metric = {"score", true}, .accuracies = {900, 500}}, 3, 92.5);
  const std::string text = report_text(compare_runs(read_made(place), {}));
  EXPECT_TRUE(text.find("592.5 +- 229.8") != std::string::npos) << text;
}

TEST(ReportText, shows_no_learning_rate_that_was_not_recorded) {
  const MadeRuns place;
  make_run(place, "own", {.communicator = "easgd", .ranks = 2, .accuracies = {0.5}, .settings = {{"lr", ""}}});
  const std::string text = report_text(compare_runs(read_made(place), {}));
  EXPECT_NE(text.find("\neasgd        2           10    -          1 of 1"), std::string::npos) << text;
}

TEST_F(ReportTables, give_variants_as_csv) { EXPECT_EQ(variants_csv(comparison_), golden("variants.csv")); }

TEST_F(ReportTables, give_runs_as_csv) { EXPECT_EQ(runs_csv(comparison_), golden("runs.csv")); }

TEST_F(ReportTables, give_metrics_as_csv) {
  Comparison one = comparison_;
  one.runs.resize(1);
  EXPECT_EQ(metrics_csv(one), golden("metrics.csv"));
}

TEST(TextTable, keeps_a_hostile_name_from_the_terminal_and_from_the_spreadsheet) {
  EXPECT_EQ(printable("a\x1b[2J\nb\x7f\xc2\x9b"
                      "1m \xc3\xa9"),
            "a?[2J?b??1m \xc3\xa9");
  const TextTable table{{"name", "value"}, {{"=1+1", "-1"}, {"a,\"b\"", "2"}, {"\xc3\xa9", "3"}}, 1};
  EXPECT_EQ(to_csv(table), "name,value\r\n'=1+1,-1\r\n\"a,\"\"b\"\"\",2\r\n\xc3\xa9,3\r\n");
  EXPECT_EQ(to_text(table), "name    value\n-----   -----\n=1+1       -1\na,\"b\"       2\n\xc3\xa9           3\n");
}

}  // namespace
}  // namespace eave
