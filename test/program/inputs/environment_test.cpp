// Tests how the program reads its environment: variables of other programs, unknown variables, and ~ in paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "test/program/program.h"

namespace eave {
namespace {

const std::string kOfOthers =
    "EAVE_PORT=tcp://10.0.0.1:80 EAVE_PORT_80_TCP_ADDR=10.0.0.1 EAVE_SERVICE_HOST=10.0.0.1 EAVE_BATCH_SERVICE_PORT=80 "
    "EAVE_ROOT=/opt/eave EAVE_VERSION=1 ";

std::ptrdiff_t lines_with(const std::string& text, const std::string& part) {
  std::ptrdiff_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(EnvironmentOfProgram, variables_of_others_change_nothing_and_the_unknown_ones_are_one_warning) {
  const Place place;
  const Ended silent = place.eave(quick("--max-steps 2"), {0, kOfOthers});
  EXPECT_EQ(silent.code, 0) << silent.errors;
  EXPECT_EQ(silent.errors.find("EAVE_"), std::string::npos) << silent.errors;
  const std::string unknown = kOfOthers + "EAVE_TAG=v1 EAVE_DEPLOYMENT=blue";
  std::vector<Ended> all = {place.eave(quick("--max-steps 2 --transport threads --ranks 2"), {0, unknown})};
  if (has_mpirun()) all.push_back(place.eave(quick("--max-steps 2"), {2, unknown}));
  for (const Ended& ended : all) {
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(lines_with(ended.errors, "EAVE_TAG"), 1) << ended.errors;
    EXPECT_EQ(lines_with(ended.errors, "are no options of eave, and have no effect"), 1) << ended.errors;
  }
}

TEST(EnvironmentOfProgram, a_home_directory_is_expanded_in_every_word_that_names_a_path) {
  namespace fs = std::filesystem;
  const Place place;
  fs::create_directory(place.path() / "home");
  const Launch at_home{0, "HOME=home"};
  EXPECT_EQ(place.eave(quick("--epochs 20 --max-steps 40 --run-dir=~/run"), at_home).code, 0);
  for (const std::string words :
       {"summary '~/run' --json='~/rows.json'", "report '~/run' --html='~/page.html'",
        "plan '~/run' --json='~/plan.json'", "watch '~/run' --once", "checkpoint ls '~/run'",
        "checkpoint export '~/run' --npy='~/arrays'", "export '~/run' --safetensors='~/m.safetensors'"}) {
    const Ended ended = place.eave(words, at_home);
    EXPECT_EQ(ended.code, 0) << words << ended.errors;
  }
  for (const char* file : {"run/summary.json", "rows.json", "page.html", "plan.json", "arrays", "m.safetensors"})
    EXPECT_TRUE(fs::exists(place.path() / "home" / file)) << file;
  EXPECT_FALSE(fs::exists(place.path() / "~"));
}

}  // namespace
}  // namespace eave
