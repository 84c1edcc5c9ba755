#include "test/program/error_cases.h"

#include <gtest/gtest.h>

namespace eave {

void expect_one_message(const Ended& ended, const Case& wrong, const std::string& how) {
  SCOPED_TRACE(how + ": eave " + wrong.words + "\n" + ended.errors);
  EXPECT_EQ(ended.code, wrong.code);
  EXPECT_EQ(ended.messages().size(), 1u);
  for (const std::string& text : wrong.says) EXPECT_TRUE(ended.says(text)) << text;
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
