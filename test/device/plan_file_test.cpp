// The file that keeps autotuning's choices: per environment, whole at any time, and never needed for a run.
#include "device/plan_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "test/temporary_directory.h"

namespace eave {
namespace {

namespace fs = std::filesystem;

class PlanFileTest : public testing::Test {
 protected:
  fs::path folder() const { return directory_.path() / "cache" / "eave" / "plans"; }
  // The one file there.
  fs::path file() const {
    EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 1);
    return fs::directory_iterator(folder())->path();
  }
  std::string content() const {
    std::ifstream in(file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  std::string find(const std::string& operation, const std::string& environment = "a GPU") const {
    PlanFile plans(folder());
    plans.open(environment);
    return plans.find(operation);
  }
  void keep(const std::string& operation, const std::string& choice, const std::string& environment = "a GPU") const {
    PlanFile plans(folder());
    plans.open(environment);
    plans.keep(operation, choice);
    plans.save();
    EXPECT_EQ(plans.why_not_saved(), "");
  }

  const TemporaryDirectory directory_;
};

TEST_F(PlanFileTest, keeps_choices_from_run_to_run) {
  EXPECT_EQ(find("a convolution"), "");
  keep("a convolution", "the first");
  keep("a product", "the second");
  EXPECT_EQ(find("a convolution"), "the first");
  EXPECT_EQ(find("a product"), "the second");
  keep("a product", "the third");
  EXPECT_EQ(find("a product"), "the third");
}

TEST_F(PlanFileTest, keeps_those_of_each_environment_apart) {
  keep("a convolution", "the first", "one GPU, driver 1");
  EXPECT_EQ(find("a convolution", "one GPU, driver 2"), "");
  keep("a convolution", "the second", "one GPU, driver 2");
  EXPECT_EQ(find("a convolution", "one GPU, driver 1"), "the first");
  EXPECT_EQ(find("a convolution", "one GPU, driver 2"), "the second");
}

TEST_F(PlanFileTest, knows_nothing_of_what_is_damaged_or_foreign_and_writes_it_anew) {
  keep("a convolution", "the first");
  keep("a product", "the second");
  const std::string whole = content();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(damaged);
    const std::string convolution = find("a convolution"), product = find("a product");
    EXPECT_TRUE(convolution.empty() || convolution == "the first") << damaged;
    EXPECT_TRUE(product.empty() || product == "the second") << damaged;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    const std::string product = find("a product");
    EXPECT_TRUE(product.empty() || product == "the second") << size;
  }
  const std::string zeros(1000, '\0');
  for (const std::string& foreign : {std::string("{\"plans\": 1}\n"), zeros, "another\n" + whole}) {
    write(foreign);
    EXPECT_EQ(find("a convolution"), "");
    keep("a convolution", "the third");
    EXPECT_EQ(find("a convolution"), "the third");
  }
  fs::remove(file());
  fs::create_directory(folder() / "x");
  keep("a convolution", "the fourth");
  EXPECT_EQ(find("a convolution"), "the fourth");
}

TEST_F(PlanFileTest, is_done_without_where_nothing_can_be_written) {
  std::ofstream(directory_.path() / "cache") << "a file";
  PlanFile plans(folder());
  plans.open("a GPU");
  plans.keep("a convolution", "the first");
  plans.save();
  EXPECT_EQ(plans.find("a convolution"), "the first") << "for this run";
  EXPECT_NE(plans.why_not_saved().find("cannot create"), std::string::npos) << plans.why_not_saved();
}

TEST_F(PlanFileTest, is_done_without_where_no_folder_is_known) {
  PlanFile plans("");
  plans.open("a GPU");
  plans.keep("a convolution", "the first");
  plans.save();
  EXPECT_EQ(plans.find("a convolution"), "the first");
  EXPECT_EQ(plans.why_not_saved(), "");
}

TEST_F(PlanFileTest, is_that_of_the_users_cache) {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string old_cache = cache != nullptr ? cache : "", old_home = home != nullptr ? home : "";
  setenv("XDG_CACHE_HOME", "/c", 1);
  setenv("HOME", "/h", 1);
  EXPECT_EQ(plan_folder(), "/c/eave/plans");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(plan_folder(), "/h/.cache/eave/plans");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(plan_folder(), "/h/.cache/eave/plans");
  unsetenv("HOME");
  EXPECT_EQ(plan_folder(), "");
  if (cache != nullptr) setenv("XDG_CACHE_HOME", old_cache.c_str(), 1);
  if (home != nullptr) setenv("HOME", old_home.c_str(), 1);
}

// Several processes write and read the file at the same time. A reader must always see a whole file.
TEST_F(PlanFileTest, is_whole_while_processes_write_it) {
  constexpr int kProcesses = 3, kRounds = 40;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      bool is_well = true;
      for (int round = 0; round < kRounds; ++round) {
        PlanFile plans(folder());
        plans.open("a GPU");
        for (int other = 0; other < kProcesses; ++other) {
          const std::string found = plans.find("operation " + std::to_string(other));
          is_well = is_well && (found.empty() || found == "choice " + std::to_string(other));
        }
        plans.keep("operation " + std::to_string(process), "choice " + std::to_string(process));
        plans.save();
        is_well = is_well && plans.why_not_saved().empty();
      }
      _exit(is_well ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder()), fs::directory_iterator()), 1) << "nothing else is left";
  int known = 0;
  for (int process = 0; process < kProcesses; ++process)
    known += find("operation " + std::to_string(process)).empty() ? 0 : 1;
  EXPECT_GE(known, 1);
}

}  // namespace
}  // namespace eave
