// Compares a run of easgd-tree that resumes on other ranks with the rule at the head of easgd_tree.cpp, in double.
// After resumption the learning rate is so small that steps move nothing. So only the method moves values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

using Values = std::vector<double>;
using Division = std::vector<std::vector<int>>;

constexpr double kTreeAlpha = 0.2, kTreeGlobalAlpha = 0.15;

struct TreeRank {
  // A run with a single group has no `global`; without compression there are no residuals.
  Values x, center, global, residual, global_residual;
};

struct TreeRun {
  std::string groups;  // as --groups takes it
  Division division;
  int ranks() const {
    std::size_t count = 0;
    for (const auto& group : division) count += group.size();
    return static_cast<int>(count);
  }
  bool is_star() const { return division.size() == 1; }
  const std::vector<int>& group_of(int rank) const {
    return *std::ranges::find_if(division, [&](const auto& group) { return std::ranges::count(group, rank) > 0; });
  }
  bool is_first(int rank) const { return !is_star() && group_of(rank).front() == rank; }
};

struct TreeCourse {
  TreeRun before, after;
  std::int64_t saved;  // the checkpoint's step; chosen so that the resumed run's first step has both kinds of exchange
};

std::vector<TreeCourse> tree_courses() {
  const TreeRun one{"1", {{0}}}, star_of_2{"1", {{0, 1}}}, two{"2", {{0}, {1}}}, three{"2", {{0, 1}, {2}}},
      four{"2", {{0, 1}, {2, 3}}}, across{"0+2,1+3", {{0, 2}, {1, 3}}};
  return {{two, four, 8},   {four, two, 6},       {three, one, 8},     {four, three, 6},
          {two, across, 8}, {star_of_2, four, 8}, {four, star_of_2, 6}};
}

TrainingSetting tree_setting(const TreeRun& run, const std::string& codec, const std::filesystem::path& directory) {
  TrainingSetting setting;
  setting.communicator = "easgd-tree";
  setting.averaging = {{"groups", run.groups}, {"tau", "2"}, {"alpha", "0.2"}, {"allow-unstable", "on"}};
  if (!run.is_star())
    setting.averaging.insert(setting.averaging.end(), {{"global-tau", "4"}, {"global-alpha", "0.15"}});
  if (!codec.empty()) setting.averaging.emplace_back("compression", codec);
  setting.model = "flatten; dense 4; relu; dense classes";
  setting.samples = 960;
  setting.optimizer = {{"momentum", "0.9"}};
  setting.plan.checkpoints.directory = directory;
  return setting;
}

Values doubles_of(ConstSlice slice) { return {slice.begin(), slice.end()}; }

TreeRank tree_rank_of(Training& training) {
  training.center();
  TreeRank rank;
  rank.x = doubles_of(training.parameters());
  const std::vector<Slice> state = training.communicator().state();
  rank.center = doubles_of(state[1]);
  if (state.size() > 2) rank.global = doubles_of(state[2]);
  if (state.size() > 3) rank.residual = doubles_of(state[3]);
  if (state.size() > 4) rank.global_residual = doubles_of(state[4]);
  return rank;
}

std::vector<TreeRank> run_tree(const TreeRun& run, const TrainingSetting& setting) {
  return on_each_rank({run.ranks() == 1 ? "loopback" : "threads", run.ranks()}, [&](Transport& transport) {
    Trained training(transport, setting);
    return tree_rank_of(training);
  });
}

// The state of all ranks before resumption, and after `more` steps of the resumed run.
std::pair<std::vector<TreeRank>, std::vector<TreeRank>> resume_tree(const TreeCourse& course, std::int64_t more,
                                                                    const std::string& codec = "") {
  const TemporaryDirectory temporary;
  TrainingSetting setting = tree_setting(course.before, codec, temporary.path());
  setting.plan.steps = course.saved;
  const std::vector<TreeRank> before = run_tree(course.before, setting);
  setting = tree_setting(course.after, codec, temporary.path());
  setting.plan.elastic_step = course.saved;
  setting.plan.first_step = course.saved * course.before.ranks() / course.after.ranks();
  setting.plan.steps = setting.plan.first_step + more;
  setting.rate = {{"lr", "1e-30"}};
  return {before, run_tree(course.after, setting)};
}

// One element of the parameters of all workers, of all groups' centers, and of the global center.
struct TreeValues {
  std::vector<double> x, centers;
  double c = 0;
};

TreeValues begin_tree(const TreeCourse& course, const std::vector<TreeRank>& before, std::size_t k) {
  TreeValues values;
  values.c = course.before.is_star() ? before[0].center[k] : before[0].global[k];
  const auto was_there = [&](int rank) { return rank < course.before.ranks(); };
  for (int rank = 0; rank < course.after.ranks(); ++rank)
    values.x.push_back(was_there(rank) ? before[static_cast<std::size_t>(rank)].x[k] : values.c);
  for (const auto& group : course.after.division) {
    double sum = 0, count = 0;
    for (const int rank : group) {
      if (was_there(rank)) sum += before[static_cast<std::size_t>(rank)].center[k], ++count;
    }
    values.centers.push_back(course.after.is_star() || count == 0 ? values.c : sum / count);
  }
  return values;
}

void exchange_tree(const TreeRun& run, TreeValues& values) {
  const TreeValues old = values;
  for (std::size_t g = 0; g < run.division.size(); ++g) {
    for (const int rank : run.division[g]) {
      const double pull = kTreeAlpha * (old.x[static_cast<std::size_t>(rank)] - old.centers[g]);
      values.x[static_cast<std::size_t>(rank)] -= pull;
      values.centers[g] += pull;
    }
    const double pull = run.is_star() ? 0 : kTreeGlobalAlpha * (old.centers[g] - old.c);
    values.centers[g] -= pull;
    values.c += pull;
  }
  if (run.is_star()) values.c = values.centers[0];
}

std::string name_of(const TreeCourse& course) {
  return std::to_string(course.before.ranks()) + " ranks, groups " + course.before.groups + ", to " +
         std::to_string(course.after.ranks()) + ", groups " + course.after.groups;
}

TEST(JoinedTree, groups_go_on_from_the_mean_of_the_centers_that_their_workers_had) {
  constexpr double kRounding = 1e-6;  // a few roundings of values below 1
  for (const TreeCourse& course : tree_courses()) {
    for (const std::int64_t more : {0, 1}) {
      SCOPED_TRACE(name_of(course) + ", and " + std::to_string(more) + " exchanges");
      const auto [before, after] = resume_tree(course, more);
      double parted = 0;
      for (std::size_t k = 0; k < before[0].x.size(); ++k) {
        TreeValues expected = begin_tree(course, before, k);
        parted = std::max(parted, std::abs(before[0].center[k] - expected.c));
        if (more > 0) exchange_tree(course.after, expected);
        for (std::size_t g = 0; g < course.after.division.size(); ++g) {
          for (const int rank : course.after.division[g]) {
            const TreeRank& mine = after[static_cast<std::size_t>(rank)];
            ASSERT_NEAR(mine.x[k], expected.x[static_cast<std::size_t>(rank)], kRounding) << "x of " << rank;
            ASSERT_NEAR(mine.center[k], expected.centers[g], kRounding) << "center of " << rank;
            ASSERT_NEAR((course.after.is_star() ? mine.center : mine.global)[k], expected.c, kRounding)
                << "c, " << rank;
          }
        }
      }
      EXPECT_EQ(parted > 1e-4, !course.before.is_star()) << "the groups' centers are not c";
    }
  }
}

TEST(JoinedTree, a_group_that_stays_whole_keeps_its_center_and_a_new_run_has_the_same_c_bit_by_bit) {
  for (const TreeCourse& course : tree_courses()) {
    SCOPED_TRACE(name_of(course));
    const auto [before, after] = resume_tree(course, 0);
    const Values& c = course.before.is_star() ? before[0].center : before[0].global;
    for (const TreeRank& rank : after) EXPECT_EQ(course.after.is_star() ? rank.center : rank.global, c);
    if (course.before.ranks() != 4 || course.after.ranks() != 3) continue;
    for (const std::size_t rank : {0u, 1u, 2u}) EXPECT_EQ(after[rank].center, before[rank].center);
  }
}

// If a worker took part before, its x_i + e_i is kept. The same rank still sends what a group's first rank had not sent
// to c.
TEST(JoinedTree, what_compression_dropped_is_still_sent) {
  for (const std::string codec : {"bf16", "int8"}) {
    for (const TreeCourse& course : tree_courses()) {
      if (course.after.ranks() == 1) continue;  // a single rank compresses nothing
      SCOPED_TRACE(name_of(course) + ", " + codec);
      const auto [before, after] = resume_tree(course, 0, codec);
      double dropped = 0;
      for (int rank = 0; rank < course.after.ranks(); ++rank) {
        const auto place = static_cast<std::size_t>(rank);
        const bool was_there = rank < course.before.ranks();
        ASSERT_EQ(after[place].residual.size(), after[place].x.size());
        ASSERT_EQ(after[place].global_residual.empty(), !course.after.is_first(rank));
        for (std::size_t k = 0; k < after[place].x.size(); ++k) {
          double expected = was_there ? before[place].residual[k] : 0;
          if (was_there && course.before.is_first(rank)) expected += before[place].global_residual[k];
          double kept = after[place].residual[k];
          if (course.after.is_first(rank)) kept += after[place].global_residual[k];
          ASSERT_NEAR(kept, expected, 1e-9) << "of rank " << rank;
          dropped = std::max(dropped, std::abs(expected));
        }
      }
      EXPECT_GT(dropped, 1e-7) << "something has been dropped";
    }
  }
}

}  // namespace
}  // namespace eave
