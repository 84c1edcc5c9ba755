// Tests how the program reads its environment: variables of other programs, unknown variables, and ~ in paths.
#include <gtest/gtest.h>

#include <filesystem>

#include "test/program/expectations.h"

namespace eave {
namespace {

const std::string kOfOthers =
    "EAVE_PORT=tcp://10.0.0.1:80 EAVE_PORT_80_TCP_ADDR=10.0.0.1 EAVE_SERVICE_HOST=10.0.0.1 EAVE_BATCH_SERVICE_PORT=80 "
    "EAVE_ROOT=/opt/eave EAVE_VERSION=1 ";

TEST(EnvironmentOfProgram, variables_of_others_change_nothing_and_the_unknown_ones_are_one_warning) {
  const Place place;
  const Ended silent = expect_end(0, place.eave(quick("--max-steps 2"), {0, kOfOthers}));
  EXPECT_EQ(silent.errors.find("EAVE_"), std::string::npos) << silent.errors;
  const std::string unknown = kOfOthers + "EAVE_TAG=v1 EAVE_DEPLOYMENT=blue";
  std::vector<Ended> all = {place.eave(quick("--max-steps 2 --transport threads --ranks 2"), {0, unknown})};
  if (has_mpirun()) all.push_back(place.eave(quick("--max-steps 2"), {2, unknown}));
  for (const Ended& ended : all) {
    expect_end(0, ended);
    EXPECT_EQ(count_of(ended.errors, "EAVE_TAG"), 1) << ended.errors;
    EXPECT_EQ(count_of(ended.errors, "are no options of eave, and have no effect"), 1) << ended.errors;
  }
}

TEST(EnvironmentOfProgram, a_home_directory_is_expanded_in_every_word_that_names_a_path) {
  namespace fs = std::filesystem;
  const Place place;
  fs::create_directory(place.path() / "home");
  const Launch at_home{0, "HOME=home"};
  expect_end(0, place.eave(quick("--epochs 20 --max-steps 40 --run-dir=~/run"), at_home));
  for (const std::string words :
       {"summary '~/run' --json='~/rows.json'", "report '~/run' --html='~/page.html'",
        "plan '~/run' --json='~/plan.json'", "watch '~/run' --once", "checkpoint ls '~/run'",
        "checkpoint export '~/run' --npy='~/arrays'", "export '~/run' --safetensors='~/m.safetensors'"}) {
    expect_end(0, place.eave(words, at_home));
  }
  for (const char* file : {"run/summary.json", "rows.json", "page.html", "plan.json", "arrays", "m.safetensors"})
    EXPECT_TRUE(fs::exists(place.path() / "home" / file)) << file;
  EXPECT_FALSE(fs::exists(place.path() / "~"));
}

}  // namespace
}  // namespace eave
