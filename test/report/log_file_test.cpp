// Tests logs on full disks: they hold only whole lines, and they go on when there is space again.
#include "report/record/log_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "eave/check.h"
#include "report/record/metrics_writer.h"
#include "test/expectations.h"
#include "test/temporary_directory.h"

namespace eave {
namespace {

// While it lives, files of this process cannot grow beyond `bytes`. The write that reaches the limit ends short, and
// the next write fails.
class SizeLimit {
 public:
  explicit SizeLimit(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SizeLimit(const SizeLimit&) = delete;
  SizeLimit& operator=(const SizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

class FullDisk : public testing::Test {
 protected:
  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  Warn warn() {
    return [this](const std::string& warning) { warnings_.push_back(warning); };
  }
  TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / "log";
  std::vector<std::string> warnings_;
};

TEST_F(FullDisk, keeps_whole_lines_at_every_length_and_counts_the_others) {
  const std::string lines = "one\ntwo two\n\nfour\n";
  for (std::size_t space = 0; space <= lines.size(); ++space) {
    std::filesystem::remove(path_);
    warnings_.clear();
    LogFile log(path_, warn());
    std::int64_t lost = 0;
    {
      const SizeLimit limit(space);
      lost = log.add_lines(lines);
    }
    const std::string kept = text();
    ASSERT_EQ(kept, lines.substr(0, kept.size()));
    ASSERT_TRUE(kept.empty() || kept.back() == '\n') << space;
    ASSERT_LE(kept.size(), space);
    ASSERT_EQ(lost, std::count(lines.begin() + static_cast<std::ptrdiff_t>(kept.size()), lines.end(), '\n'));
    ASSERT_EQ(warnings_.size(), space < lines.size() ? 1u : 0u);
    ASSERT_EQ(log.add_lines("and on\n"), 0);
    ASSERT_EQ(text(), kept + "and on\n");
    ASSERT_EQ(log.lost(), lost);
  }
}

TEST_F(FullDisk, keeps_a_record_whole_or_not_at_all) {
  LogFile log(path_, warn());
  EXPECT_TRUE(log.add("abc\nd"));
  {
    const SizeLimit limit(8);
    EXPECT_FALSE(log.add("efg\nh"));
    expect_parts(log.problem(), {"cannot write " + path_.string()});
    EXPECT_EQ(text(), "abc\nd");
    EXPECT_TRUE(log.add("ef"));
    EXPECT_FALSE(log.add("gh"));
  }
  EXPECT_TRUE(log.add("!"));
  EXPECT_EQ(text(), "abc\ndef!");
  EXPECT_EQ(log.lost(), 2);
  EXPECT_EQ(log.problem(), "");
  EXPECT_EQ(warnings_.size(), 1u) << "one for all";
}

// /dev/full is a device that is always full.
TEST_F(FullDisk, that_is_no_file_loses_all_and_throws_nothing) {
  LogFile log("/dev/full", warn());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(log.add("x"));
  EXPECT_EQ(log.add_lines("a\nb\n"), 2);
  ASSERT_EQ(warnings_.size(), 1u);
  expect_parts(warnings_[0], {"/dev/full"});
}

TEST_F(FullDisk, is_as_bad_as_a_file_that_somebody_removes) {
  LogFile log(path_, warn());
  EXPECT_TRUE(log.add("x"));
  MetricsWriter writer(directory_.path() / "metrics");
  std::filesystem::remove_all(directory_.path());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(log.add("x"));
  EXPECT_EQ(log.add_lines("a\nb\n"), 2);
  ASSERT_EQ(warnings_.size(), 1u);
  expect_parts(warnings_[0], {"cannot write " + path_.string() + ": it was removed; the run goes on without"});
  EXPECT_THROW(writer.write_end({}), Error) << "a result";
}

TEST_F(FullDisk, of_metrics_is_told_in_the_file_once_there_is_space) {
  MetricsWriter writer(path_, warn());
  const auto evaluate = [&](std::int64_t step) {
    EvaluationRecord record;
    record.step = step;
    writer.write_evaluation(record);
  };
  evaluate(1);
  {
    const SizeLimit limit(std::filesystem::file_size(path_) + 3);
    for (const std::int64_t step : {2, 3, 4}) evaluate(step);
    EXPECT_THROW(writer.write_end({}), Error) << "a result";
  }
  evaluate(5);
  std::istringstream lines(text());
  std::vector<nlohmann::json> found;
  for (std::string line; std::getline(lines, line);) found.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].at("step"), 1);
  EXPECT_EQ(found[1], (nlohmann::json{{"type", "lost"}, {"lines", 4}}));
  EXPECT_EQ(found[2].at("step"), 5);
  EXPECT_EQ(writer.lost(), 4);
}

}  // namespace
}  // namespace eave
