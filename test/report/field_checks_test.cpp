// Tests how readers refuse impossible numbers, such as a flipped bit or a foreign file brings.
#include "report/read/field_checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include "eave/check.h"
#include "report/compare/statistics.h"
#include "report/plan/plan_run.h"
#include "report/read/run_reader.h"
#include "report/record/run_directory.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"
#include "report/watch/watched_run.h"
#include "test/report/made_runs.h"

namespace eave {
namespace {

// Returns the value at `path`, or null if there is none. If the path ends with [], returns the list's first element.
Json* at(Json& object, const std::string& path) {
  Json* value = &object;
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '.');) {
    const bool is_list = part.ends_with("[]");
    if (is_list) part.resize(part.size() - 2);
    if (!value->is_object() || !value->contains(part)) return nullptr;
    value = &value->at(part);
    if (is_list && value->empty()) return nullptr;
    if (is_list) value = &value->front();
  }
  return value;
}

std::vector<double> impossible(const FieldRange& range) {
  std::vector<double> values = {range.least * 1.001 - 1, range.most * 1.001 + 1, 1e308, -1e308};
  if (range.kind == NumberKind::kWhole) values.push_back(range.least + 0.5);
  return values;
}

class FieldRanges : public testing::Test {
 protected:
  FieldRanges() {
    make_run(place_, "run", {.ranks = 2, .accuracies = {0.5, 0.75}, .validation = {0.5, 0.5}});
    std::istringstream text(place_.read("run/metrics.jsonl"));
    for (std::string line; std::getline(text, line);) lines_.push_back(line);
  }

  // Rewrites the file with the first line of this type edited.
  void change(const std::string& type, const std::function<void(Json&)>& edit) {
    std::string text;
    bool is_done = false;
    for (const std::string& line : lines_) {
      Json object = Json::parse(line);
      if (!is_done && object.at("type") == type) edit(object), is_done = true;
      text += object.dump() + "\n";
    }
    place_.write("run/metrics.jsonl", text);
  }

  std::string refusal(const std::function<void()>& read) const {
    try {
      read();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kBadData);
      return error.what();
    }
    return "";
  }
  std::string refusal_of_reader() const {
    return refusal([&] { read_metrics(place_.path() / "run/metrics.jsonl"); });
  }
  std::string refusal_of_resume() const {
    return refusal([&] { reopen_run_directory(place_.path() / "run", {.samples = 1000000}); });
  }
  std::string damage_in_watch() const {
    WatchedRun run;
    std::istringstream text(place_.read("run/metrics.jsonl"));
    for (std::string line; std::getline(text, line);) run.take(line);
    return run.failure() ? run.failure()->message : run.damage();
  }

  const MadeRuns place_;
  std::vector<std::string> lines_;
};

TEST_F(FieldRanges, hold_in_every_reader_of_metrics) {
  EXPECT_EQ(refusal_of_reader(), "");
  EXPECT_EQ(damage_in_watch(), "");
  int tried = 0;
  for (const std::string type : {"header", "step", "evaluation", "end"}) {
    for (const FieldRange& range : ranges_of(type)) {
      if (std::string(range.field) == "format") continue;  // readers report a wrong format with another message
      for (const double value : impossible(range)) {
        bool is_there = false;
        change(type, [&](Json& object) {
          Json* const number = at(object, range.field);
          is_there = number != nullptr;
          if (is_there) *number = value;
        });
        if (!is_there) continue;
        const std::string where = type + " " + range.field + " " + std::to_string(value);
        const std::string by_reader = refusal_of_reader();
        EXPECT_NE(by_reader.find(std::string(range.field) + " is "), std::string::npos) << where;
        EXPECT_NE(damage_in_watch().find(std::string(range.field) + " is "), std::string::npos) << where;
        if (type != "end") {
          EXPECT_NE(refusal_of_resume().find(range.field), std::string::npos) << where;
        }
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 150);
}

TEST_F(FieldRanges, name_the_line_the_field_and_what_it_can_be) {
  change("evaluation", [](Json& object) { object["center"]["accuracy"] = 8.908; });
  EXPECT_EQ(refusal_of_reader(),
            "metrics.jsonl line 4 is damaged: center.accuracy is 8.908, but must be a number from 0 to 1; put back a "
            "copy of it, or train anew in another directory");
  EXPECT_NE(damage_in_watch().find("1 damaged line of metrics.jsonl is left out; line 4: center.accuracy is 8.908"),
            std::string::npos)
      << damage_in_watch();
}

TEST_F(FieldRanges, of_a_summary_hold_and_its_accuracy_stands_there_twice) {
  Json object = Json::parse(lines_.back());
  EXPECT_EQ(summary_of(object.dump(), "there").evaluation.center.accuracy, 0.75);
  for (const FieldRange& range : ranges_of("summary.json")) {
    for (const double value : impossible(range)) {
      Json other = object;
      if (Json* const number = at(other, range.field)) {
        *number = value;
        EXPECT_NE(refusal([&] { summary_of(other.dump(), "there"); }), "") << range.field << " " << value;
      }
    }
  }
  object["test_accuracy"] = 0.25;
  EXPECT_NE(refusal([&] {
              summary_of(object.dump(), "there");
            }).find("test_accuracy is 0.25, but must be 0.75, evaluation.center.accuracy"),
            std::string::npos);
}

TEST_F(FieldRanges, take_no_step_twice) {
  std::string text;
  for (const std::string& line : lines_) text += (line.find("\"step\"") != 8 ? line : line + "\n" + line) + "\n";
  place_.write("run/metrics.jsonl", text);
  EXPECT_NE(refusal_of_reader().find("step is 25, but must be at least 26, above the step of this rank's line before"),
            std::string::npos);
  EXPECT_NE(refusal_of_resume().find("step is 25, but must be at least 26, above the step of this rank's line before"),
            std::string::npos);
}

TEST_F(FieldRanges, let_a_loss_be_null_and_nothing_else) {
  change("evaluation", [](Json& object) { object["center"]["loss"] = nullptr; });
  EXPECT_EQ(refusal_of_reader(), "");
  change("step", [](Json& object) { object["loss"] = nullptr; });
  EXPECT_EQ(refusal_of_reader(), "");
  change("step", [](Json& object) { object["seconds"] = nullptr; });
  EXPECT_NE(refusal_of_reader(), "");
}

TEST_F(FieldRanges, keep_sums_and_means_of_the_largest_numbers_finite) {
  change("evaluation", [](Json& object) { object["center"]["loss"] = 1e39; });
  const RunRecord run = read_metrics(place_.path() / "run/metrics.jsonl");
  EXPECT_TRUE(std::isfinite(estimate({1e39, -1e39, 1e39}).deviation));
  EXPECT_EQ(run.evaluations.front().record.center.loss, 1e39);
}

TEST(LossText, has_at_most_20_digits_and_no_nan) {
  EXPECT_EQ(loss_text(2.30259), "2.3026");
  EXPECT_EQ(loss_text(1e39), "1e+39");
  EXPECT_EQ(loss_text(-123456789012.0), "-123456789012.0000");
  EXPECT_EQ(loss_text(std::numeric_limits<double>::quiet_NaN()), "not finite");
}

TEST_F(FieldRanges, keep_a_resumed_run_from_adding_to_damaged_lines) {
  const std::string whole = place_.read("run/metrics.jsonl");
  const std::size_t second = whole.find('\n') + 1;
  place_.write("run/metrics.jsonl", whole.substr(0, second) + "{\"type\":\"st\n" + whole.substr(second));
  EXPECT_NE(refusal_of_resume().find("line 2 is damaged"), std::string::npos);
  place_.write("run/metrics.jsonl", whole + "{\"type\":\"step\",\"ra\n\0\0\0");
  EXPECT_EQ(refusal_of_resume(), "") << "what was being written when the run ended is cut";
}

TEST_F(FieldRanges, keep_a_resumed_run_from_adding_to_what_no_report_reads) {
  const std::string whole = place_.read("run/metrics.jsonl");
  const auto refusal_after = [&](const std::string& type, const auto& edit) {
    place_.write("run/metrics.jsonl", whole);
    change(type, edit);
    return refusal_of_resume();
  };
  EXPECT_NE(refusal_after("header", [](Json& object) { object["format"] = 2; }).find("it says format 2"),
            std::string::npos);
  EXPECT_NE(
      refusal_after("header", [](Json& object) { object["ranks"] = Json::array(); }).find("ranks is an empty list"),
      std::string::npos);
  EXPECT_NE(refusal_after("header", [](Json& object) { object["config"] = Json::array(); }), "");
  EXPECT_NE(refusal_after("step", [](Json& object) { object["rank"] = 9; })
                .find("rank is 9, but must be at most 1, the last rank in the header"),
            std::string::npos);
  place_.write("run/metrics.jsonl", whole.substr(whole.find('\n') + 1));
  EXPECT_NE(refusal_of_resume().find("it is no header"), std::string::npos);
}

}  // namespace
}  // namespace eave
