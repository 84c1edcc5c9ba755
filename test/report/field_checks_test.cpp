// Tests how readers refuse impossible numbers, such as a flipped bit or a foreign file brings.
#include "report/read/field_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/compare/statistics.h"
#include "report/record/summary.h"
#include "report/text/terminal.h"
#include "test/report/damaged_run.h"

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

class FieldRanges : public DamagedRun {
 protected:
  // Rewrites the file with the first line of this type edited.
  void change(const std::string& type, const std::function<void(Json&)>& edit) {
    JsonLines lines = lines_;
    edit(*std::ranges::find_if(lines, [&](const Json& line) { return line.at("type") == type; }));
    write(lines);
  }
};

TEST_F(FieldRanges, hold_in_every_reader_of_metrics) {
  EXPECT_EQ(refusal_of_report(), "");
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
        const std::string by_reader = refusal_of_report();
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
  EXPECT_EQ(refusal_of_report(),
            "metrics.jsonl line 4 is damaged: center.accuracy is 8.908, but must be a number from 0 to 1; put back a "
            "copy of it, or train anew in another directory");
  expect_parts(damage_in_watch(), {"1 damaged line of metrics.jsonl is left out; line 4: center.accuracy is 8.908"});
}

TEST_F(FieldRanges, of_a_summary_hold_and_its_accuracy_stands_there_twice) {
  Json object = lines_.back();
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
  expect_parts(refusal([&] { summary_of(object.dump(), "there"); }),
               {"test_accuracy is 0.25, but must be 0.75, evaluation.center.accuracy"});
}

TEST_F(FieldRanges, take_no_step_twice) {
  JsonLines lines;
  for (const Json& line : lines_) lines.insert(lines.end(), line.at("type") == "step" ? 2 : 1, line);
  write(lines);
  expect_parts(refusal_of_report(), {"step is 25, but must be at least 26, above the step of this rank's line before"});
  expect_parts(refusal_of_resume(), {"step is 25, but must be at least 26, above the step of this rank's line before"});
}

TEST_F(FieldRanges, let_a_loss_be_null_and_nothing_else) {
  change("evaluation", [](Json& object) { object["center"]["loss"] = nullptr; });
  EXPECT_EQ(refusal_of_report(), "");
  change("step", [](Json& object) { object["loss"] = nullptr; });
  EXPECT_EQ(refusal_of_report(), "");
  change("step", [](Json& object) { object["seconds"] = nullptr; });
  EXPECT_NE(refusal_of_report(), "");
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
  EXPECT_EQ(loss_text(std::numeric_limits<double>::quiet_NaN()), "not known");
}

TEST_F(FieldRanges, keep_a_resumed_run_from_adding_to_damaged_lines) {
  const std::string whole = place_.read("run/metrics.jsonl");
  const std::size_t second = whole.find('\n') + 1;
  place_.write("run/metrics.jsonl", whole.substr(0, second) + "{\"type\":\"st\n" + whole.substr(second));
  expect_parts(refusal_of_resume(), {"line 2 is damaged"});
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
  expect_parts(refusal_after("header", [](Json& object) { object["format"] = 3; }), {"it says format 3"});
  expect_parts(refusal_after("header", [](Json& object) { object["ranks"] = Json::array(); }),
               {"ranks is an empty list"});
  EXPECT_NE(refusal_after("header", [](Json& object) { object["config"] = Json::array(); }), "");
  expect_parts(refusal_after("step", [](Json& object) { object["rank"] = 9; }),
               {"rank is 9, but must be at most 1, the last rank in the header"});
  place_.write("run/metrics.jsonl", whole.substr(whole.find('\n') + 1));
  expect_parts(refusal_of_resume(), {"it is no header"});
}

}  // namespace
}  // namespace eave
