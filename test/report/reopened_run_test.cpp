// A resume drops the header of an earlier resume that got to no checkpoint.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "test/expectations.h"
#include "test/report/damaged_run.h"

namespace eave {
namespace {

class ReopenedRun : public DamagedRun {
 protected:
  // Two ranks train. One rank goes on, and is killed.
  ReopenedRun() {
    reopen(2);
    add_header(1, "elastic");
  }

  KeptRecord reopen(int ranks) {
    const KeptRecord kept = reopen_run_directory(run_, {.samples = evaluation_["samples"].get<std::int64_t>(),
                                                        .last_step = evaluation_["step"].get<std::int64_t>(),
                                                        .ranks = ranks});
    lines_ = lines_in_file();
    return kept;
  }
  void add_header(int ranks, const std::string& resume) {
    Json header = header_;
    header["config"]["resume"] = resume;
    while (std::ssize(header["ranks"]) > ranks) header["ranks"].erase(header["ranks"].size() - 1);
    lines_.push_back(header);
    write(lines_);
  }
  Json last(const std::string& type) const {
    Json found;
    for (const Json& line : lines_) {
      if (line["type"] == type) found = line;
    }
    return found;
  }
  std::ptrdiff_t headers() const {
    return std::ranges::count_if(lines_, [](const Json& line) { return line["type"] == "header"; });
  }

  const Json header_ = lines_.front(), evaluation_ = last("evaluation"), step_ = last("step");
};

TEST_F(ReopenedRun, loses_the_header_of_other_ranks_that_saved_no_checkpoint) {
  const std::ptrdiff_t before = std::ssize(lines_) - 1;
  const int samples = evaluation_["samples"].get<int>() + 1;
  Json later = step_;
  later.update({{"rank", 0}, {"step", samples}, {"samples", samples}});
  later["epoch"] = samples / header_["train_samples"].get<double>();
  lines_.push_back(later);
  lines_.push_back({{"type", "lost"}, {"lines", 3}});
  write(lines_);
  EXPECT_EQ(reopen(2).ranks, 2);
  EXPECT_EQ(std::ssize(lines_), before);
  add_header(2, "auto");
  EXPECT_EQ(refusal_of_report(), "");
  EXPECT_EQ(read_run(run_).ranks_in_turn, std::vector<int>{2});
  EXPECT_EQ(reopen(2).ranks, 2);
}

TEST_F(ReopenedRun, keeps_the_header_of_the_ranks_that_saved_the_checkpoint) {
  EXPECT_EQ(reopen(1).ranks, 1);
  add_header(1, "auto");
  EXPECT_EQ(refusal_of_report(), "");
  add_header(2, "elastic");
  EXPECT_EQ(reopen(1).ranks, 1);
  EXPECT_EQ(headers(), 3);
}

TEST_F(ReopenedRun, is_of_the_ranks_of_its_lines_if_those_of_the_checkpoint_are_not_told) {
  EXPECT_EQ(reopen(0).ranks, 2);
  EXPECT_EQ(headers(), 1);
}

// eave deletes nothing through a link, so the new run would seem to have the checkpoints behind it.
TEST_F(ReopenedRun, is_not_replaced_if_checkpoints_lie_behind_a_link) {
  const TemporaryDirectory elsewhere;
  const std::filesystem::path link = run_ / "checkpoint";
  std::filesystem::create_directory_symlink(elsewhere.path(), link);
  std::filesystem::create_directory(elsewhere.path() / "step-10");
  EXPECT_TRUE(says(error_of([&] { prepare_run_directory(run_, true); }).what(),
                   "holds checkpoints of the run that this one replaces"));
  EXPECT_TRUE(std::filesystem::exists(run_ / "metrics.jsonl"));
  std::filesystem::remove(elsewhere.path() / "step-10");
  prepare_run_directory(run_, true);
  EXPECT_TRUE(std::filesystem::is_symlink(std::filesystem::symlink_status(link)));
}

}  // namespace
}  // namespace eave
