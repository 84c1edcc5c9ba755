#include "test/program/expectations.h"

#include <gtest/gtest.h>

#include <sstream>

namespace eave {

Ended expect_end(int code, Ended ended, const Texts& says) {
  SCOPED_TRACE(ended.command + "\n" + ended.output + ended.errors);
  EXPECT_EQ(ended.code, code);
  if (code != 0) {
    EXPECT_EQ(ended.messages().size(), 1u);
  }
  for (const std::string& text : says) EXPECT_TRUE(ended.says(text)) << text;
  return ended;
}

Ended expect_output(int code, Ended ended, const Texts& parts) {
  EXPECT_EQ(ended.code, code) << ended.command << "\n" << ended.errors;
  expect_parts(ended.output, parts);
  return ended;
}

Ended expect_told(int code, Ended ended, const Texts& parts) {
  EXPECT_EQ(ended.code, code) << ended.command << "\n" << ended.output << ended.errors;
  expect_parts(ended.output + ended.errors, parts);
  return ended;
}

nlohmann::json json_in(const Place& place, const std::string& file) { return nlohmann::json::parse(place.read(file)); }

std::vector<nlohmann::json> records_of(const Place& place, const std::string& type, const std::string& run) {
  std::vector<nlohmann::json> records;
  std::istringstream lines(place.read(run + "/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    nlohmann::json record = nlohmann::json::parse(line);
    if (type.empty() || record.at("type") == type) records.push_back(std::move(record));
  }
  return records;
}

void expect_one_message(const Ended& ended, const Case& wrong, const std::string& how) {
  SCOPED_TRACE(how);
  expect_end(wrong.code, ended, wrong.says);
  EXPECT_EQ(ended.output, "") << "training began";
}

void start_all(Runs& runs, const Place& place, const Case& wrong) {
  runs.start(wrong, "alone", [=, &place] { return place.eave(wrong.words, {0, wrong.environment}); });
  for (const std::string ranks : {"2", "4"}) {
    const std::string threads = wrong.words + " --transport threads --ranks " + ranks;
    if (wrong.words.starts_with("train")) {
      runs.start(wrong, "threads " + ranks, [=, &place] { return place.eave(threads, {0, wrong.environment}); });
    }
    if (!has_mpirun()) continue;
    runs.start(wrong, "mpirun " + ranks, [=, &place] {
      return place.eave(wrong.words, {std::stoi(ranks), wrong.environment});
    });
  }
}

}  // namespace eave
