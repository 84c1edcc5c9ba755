// Tests the page: its content, that no text in it can break out of its element, and its size.
#include "report/page/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/page/page_data.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

const PageFacts kFacts = {"runs", "2026-11-22 02:00 UTC", "eave 0.1.0"};

Json data_of(const MadeRuns& place) { return page_data(compare_runs(read_made(place), {}), kFacts); }

TEST(Page, template_has_one_place_for_data_and_none_left_for_style_and_script) {
  const std::string page(page_template());
  const std::string placeholder = "/*EAVE_DATA*/null";
  expect_parts(page, {placeholder});
  EXPECT_EQ(page.find(placeholder), page.rfind(placeholder));
  EXPECT_EQ(page.find("/*EAVE_STYLE*/"), std::string::npos);
  EXPECT_EQ(page.find("/*EAVE_SCRIPT*/"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/"));
  EXPECT_EQ(page.find("src=\"http"), std::string::npos);
}

TEST(Page, holds_the_data_where_the_place_was) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {0.5}});
  const std::string page = report_page(compare_runs(read_made(place), {}), kFacts);
  std::string expected(page_template());
  const std::string placeholder = "/*EAVE_DATA*/null";
  expected.replace(expected.find(placeholder), placeholder.size(), data_of(place).dump());
  EXPECT_EQ(page, expected);
}

TEST(Page, cannot_be_broken_by_any_name) {
  const std::string name = "</script><!--<script>alert(1)</script>\"'&\\\xe2\x80\xa8\xe2\x80\xa9\xff";
  const MadeRuns place;
  make_run(place, "run", {.communicator = name, .accuracies = {0.5}, .settings = {{name, name}, {"seed", name}}});
  RunList list = read_made(place);
  list.runs[0].name = name;
  list.left_out.push_back({name, name});
  const std::string page = report_page(compare_runs(list, {}), {name, name, name, name});
  const std::string expected(page_template());
  for (const std::string word : {"<", "\xe2\x80\xa8", "\xe2\x80\xa9", "\xff"}) {
    EXPECT_EQ(count_of(page, word), count_of(expected, word)) << word;
  }
}

TEST(Page, stays_small_whatever_names_are_in_it) {
  const std::string name(1'000'000, 'x');
  const MadeRuns place;
  make_run(place, "run", {.communicator = name, .accuracies = {0.5}, .settings = {{name, name}, {"seed", name}}});
  make_run(place, "other", {.accuracies = {0.5}, .settings = {{"model", name}}});
  make_run(place, "third", {.communicator = "easgd", .accuracies = {0.5}, .settings = {{"model", name}}});
  const Comparison comparison = compare_runs(read_made(place), {});
  EXPECT_LE(report_page(comparison, kFacts).size(), page_template().size() + 50'000);
}

TEST(PageData, has_the_columns_of_each_run) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {0.5, 0.75}, .validation = {0.25, 0.5}, .seconds = 8, .bytes = 400});
  const Json data = data_of(place);
  const Json& run = data.at("runs").at(0);
  EXPECT_EQ(run.at("name"), "run");
  EXPECT_EQ(run.at("state"), "finished");
  EXPECT_EQ(run.at("seed"), 1);
  EXPECT_EQ(run.at("steps").dump(),
            R"({"seconds":[4,8],"step":[50,100],"epoch":[0.5,1],"bytes":[200,400],"loss":[0.5,0.25]})");
  const Json& evaluations = run.at("evaluations");
  EXPECT_EQ(evaluations.at("center").dump(), R"({"loss":[0.5,0.25],"accuracy":[0.5,0.75]})");
  EXPECT_EQ(evaluations.at("validation").dump(), R"({"loss":[0.75,0.5],"accuracy":[0.25,0.5]})");
  EXPECT_EQ(data.at("variants").at(0).at("accuracy").dump(), R"({"n":1,"mean":0.75,"low":null,"high":null})");
  EXPECT_EQ(data.at("target").at("accuracy"), 0.75);
}

TEST(PageData, has_steps_and_batches_of_seven_digits_in_full) {
  const MadeRuns place;
  make_run(place, "steps", {.accuracies = {0.5}, .samples = 12'345'670});
  make_run(place, "batch", {.accuracies = {0.5}, .samples = 12'345'670, .settings = {{"batch", "1234567"}}});
  const Json data = data_of(place);
  const auto has = [&](const Json& list, const std::string& pointer, std::int64_t value) {
    return std::ranges::any_of(list, [&](const Json& each) { return each.at(Json::json_pointer(pointer)) == value; });
  };
  EXPECT_TRUE(has(data.at("runs"), "/steps/step/0", 1'234'567)) << data.at("runs");
  EXPECT_TRUE(has(data.at("runs"), "/evaluations/step/0", 1'234'567)) << data.at("runs");
  EXPECT_TRUE(has(data.at("variants"), "/batch_per_rank", 1'234'567)) << data.at("variants");
  EXPECT_TRUE(has(data.at("variants"), "/total_batch", 1'234'567)) << data.at("variants");
}

TEST(PageData, has_the_final_loss_and_the_lines_of_notes) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {0.5, 0.75}});
  PageFacts facts = kFacts;
  facts.notes = "one\r\n\n<b>two\n\n";
  const Json data = page_data(compare_runs(read_made(place), {}), facts);
  EXPECT_EQ(data.at("own_notes").dump(), R"(["one","","<b>two"])");
  EXPECT_EQ(data.at("variants").at(0).at("loss").at("mean"), 0.25);
}

TEST(PageData, of_runs_without_a_point_is_complete) {
  const MadeRuns place;
  make_run(place, "run", {.accuracies = {}, .finishes = false});
  const Json data = data_of(place);
  EXPECT_TRUE(data.at("target").is_null());
  EXPECT_TRUE(data.at("variants").at(0).at("accuracy").is_null());
  EXPECT_TRUE(data.at("variants").at(0).at("loss").is_null());
  EXPECT_EQ(data.at("runs").at(0).at("steps").at("loss").size(), 0u);
  EXPECT_EQ(data.at("runs").at(0).at("state"), "interrupted");
}

}  // namespace
}  // namespace eave
