// A run of two ranks whose metrics.jsonl a test damages, and what each reader then says.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "report/plan/plan_run.h"
#include "report/read/run_reader.h"
#include "report/record/json.h"
#include "report/record/reopened_run.h"
#include "report/record/run_directory.h"
#include "report/watch/watched_run.h"
#include "test/expectations.h"
#include "test/report/made_runs.h"

namespace eave {

using JsonLines = std::vector<Json>;

class DamagedRun : public testing::Test {
 protected:
  DamagedRun() {
    make_run(place_, "run", {.ranks = 2, .accuracies = {0.5, 0.75}, .validation = {0.5, 0.5}, .bytes = 600});
    lines_ = lines_in_file();
  }

  std::vector<std::string> text_lines() const {
    std::vector<std::string> lines;
    std::istringstream text(place_.read("run/metrics.jsonl"));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  JsonLines lines_in_file() const {
    JsonLines lines;
    for (const std::string& line : text_lines()) lines.push_back(Json::parse(line));
    return lines;
  }
  void write(const JsonLines& lines) const {
    std::string text;
    for (const Json& line : lines) text += line.dump() + "\n";
    place_.write("run/metrics.jsonl", text);
  }

  // Returns the message with which `read` refuses the run, or "" if it accepts it.
  static std::string refusal(const std::function<void()>& read) {
    const Error error = error_of(read);
    if (error.code() != ExitCode::kDone) {
      EXPECT_EQ(error.code(), ExitCode::kBadData) << error.what();
    }
    return error.what();
  }
  std::string refusal_of_report() const {
    return refusal([&] { read_run(run_); });
  }
  std::string refusal_of_plan() const {
    return refusal([&] { read_plan_run(run_, [](const std::string&) { return ExchangePattern::kBlockingSums; }); });
  }
  std::string refusal_of_resume() const {
    return refusal([&] { reopen_run_directory(run_, {.samples = 1000000}); });
  }
  std::string damage_in_watch() const {
    WatchedRun run;
    for (const std::string& line : text_lines()) run.take(line);
    return run.damage() + (run.failure() ? run.failure()->message : "");
  }

  const MadeRuns place_;
  const std::filesystem::path run_ = place_.path() / "run";
  JsonLines lines_;
};

}  // namespace eave
