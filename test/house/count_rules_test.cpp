// Messages say "1 step", not "1 steps". A number before a plural comes from count_text, or is known not to be 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace {

namespace fs = std::filesystem;

// Plurals that need no count_text: the code has a branch for 1, or there are at least two.
constexpr std::array kNeverOne = {"compare_grid.cpp: ranks",      "compression.cpp: ranks", "reproducible.cpp: ranks",
                                  "verdict.cpp: ranks",           "plan_text.cpp: ranks",   "stragglers.cpp: steps",
                                  "replica_comparison.cpp: ranks"};

TEST(Counts, before_a_plural_are_written_by_the_one_helper) {
  const std::regex counts(
      R"((to_string\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\) \+\s+" |%(?:d|lld|zu) )(?:more |other |training |test )?)"
      R"((arrays|bytes|epochs|events|exchanges|files|hosts|images|iterations|labels|lines|others|parameters|ranks|runs|)"
      R"(samples|shards|steps|updates|values|workers)\b)");
  const fs::path root = fs::path(EAVE_SOURCE_DIR) / "src";
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    // These rooms' messages are checks of the program against itself, which no person should see.
    const std::string room = fs::relative(entry.path(), root).begin()->string();
    if (entry.path().extension() != ".cpp" || room == "transport" || room == "device") continue;
    ++files;
    std::ifstream stream(entry.path());
    const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    for (std::sregex_iterator found(text.begin(), text.end(), counts), end; found != end; ++found) {
      const std::string what = entry.path().filename().string() + ": " + (*found)[2].str();
      EXPECT_TRUE(std::ranges::find(kNeverOne, what) != kNeverOne.end())
          << entry.path() << ": " << found->str() << "; write count_text (base/options/number_text.h)";
    }
  }
  EXPECT_GT(files, 200);
}

}  // namespace
