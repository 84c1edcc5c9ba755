// A resumed run counts the step lines that its metrics.jsonl lacks.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "test/report/damaged_run.h"

namespace eave {
namespace {

class MissingLines : public DamagedRun {
 protected:
  MissingLines() {
    header_ = lines_[0];
    header_["config"]["log-every"] = "1";
    for (const Json& line : lines_) {
      if (line["type"] == "step") step_ = line;
    }
    step_.update({{"samples", 0},
                  {"epoch", 0.0},
                  {"computing", 0},
                  {"exchanging", 0},
                  {"waiting", 0},
                  {"loading", 0},
                  {"bytes", 0}});
    lines_.clear();
  }
  Json header(int ranks, const std::string& every, const std::string& resume = "auto") const {
    Json header = header_;
    header["config"]["log-every"] = every;
    header["config"]["resume"] = resume;
    while (std::ssize(header["ranks"]) < ranks) header["ranks"].push_back(header["ranks"][0]);
    while (std::ssize(header["ranks"]) > ranks) header["ranks"].erase(header["ranks"].size() - 1);
    for (int rank = 0; rank < ranks; ++rank) header["ranks"][static_cast<std::size_t>(rank)]["rank"] = rank;
    return header;
  }
  void add_steps(int ranks, int first, int last, int every = 1, const std::set<std::pair<int, int>>& without = {}) {
    for (int number = first; number <= last; number += every) {
      for (int rank = 0; rank < ranks; ++rank) {
        if (without.contains({rank, number})) continue;
        Json line = step_;
        line.update({{"rank", rank}, {"step", number}, {"seconds", number}});
        lines_.push_back(line);
      }
    }
  }
  // The number that a resume after this step finds, and writes as the only such line.
  std::int64_t missing_before(std::int64_t step) {
    write(lines_);
    const std::int64_t missing = reopen_run_directory(run_, {.samples = 1000000, .last_step = step}).missing;
    EXPECT_EQ(told(), missing);
    return missing;
  }
  std::int64_t told() const {
    std::int64_t lines = 0;
    for (const Json& line : lines_in_file()) {
      if (line["type"] == "lost") lines += line["lines"].get<std::int64_t>();
    }
    return lines;
  }

  Json header_, step_;
};

TEST_F(MissingLines, are_counted_between_lines_and_up_to_the_checkpoint) {
  lines_ = {header(2, "1")};
  add_steps(2, 1, 10, 1, {{0, 4}, {1, 10}});
  EXPECT_EQ(missing_before(10), 2);
  EXPECT_EQ(missing_before(14), 10);
  lines_ = {header(2, "1")};
  EXPECT_EQ(missing_before(7), 14) << "the file was cut";
}

TEST_F(MissingLines, are_none_if_the_run_wrote_every_third) {
  lines_ = {header(2, "3")};
  add_steps(2, 3, 9, 3);
  EXPECT_EQ(missing_before(11), 0);
  EXPECT_EQ(missing_before(12), 2);
  lines_.push_back(header(2, "1"));
  add_steps(2, 12, 14);
  EXPECT_EQ(missing_before(14), 0) << "lines 10 and 11 were not due";
}

TEST_F(MissingLines, of_the_steps_before_another_log_every_stay_told) {
  lines_ = {header(2, "1")};
  add_steps(2, 1, 7);
  EXPECT_EQ(missing_before(10), 6);
  lines_ = lines_in_file();
  lines_.push_back(header(2, "2"));
  write(lines_);
  reopen_run_directory(run_, {.samples = 1000000, .last_step = 10, .ranks = 2});
  EXPECT_EQ(told(), 6) << "no line followed the header";
  add_steps(2, 12, 16, 2, {{1, 14}});
  write(lines_);
  EXPECT_EQ(reopen_run_directory(run_, {.samples = 1000000, .last_step = 16}).missing, 1);
  EXPECT_EQ(told(), 7);
}

TEST_F(MissingLines, replace_those_that_were_told_before) {
  lines_ = {header(2, "1"), {{"type", "lost"}, {"lines", 9}}};
  add_steps(2, 1, 10, 1, {{0, 4}});
  lines_.push_back({{"type", "lost"}, {"lines", 5}});
  EXPECT_EQ(missing_before(10), 1);
}

TEST_F(MissingLines, are_counted_anew_with_another_number_of_ranks) {
  lines_ = {header(2, "1")};
  add_steps(2, 1, 6);
  lines_.push_back({{"type", "lost"}, {"lines", 4}});
  lines_.push_back(header(1, "1", "elastic"));
  add_steps(1, 21, 24, 1, {{0, 22}});
  write(lines_);
  EXPECT_EQ(reopen_run_directory(run_, {.samples = 1000000, .last_step = 24}).missing, 1);
  EXPECT_NE(place_.read("run/metrics.jsonl").find(R"("lines":4})"), std::string::npos) << "of the other ranks";
}

TEST_F(MissingLines, of_a_file_without_a_header_are_all) {
  place_.write("run/metrics.jsonl", "");
  EXPECT_TRUE(says(refusal_of_resume(), "it has no header, so somebody has emptied it"));
}

}  // namespace
}  // namespace eave
