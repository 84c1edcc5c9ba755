// Compares the exchanges of a run that resumes on another number of ranks with their formulas in double. After
// resumption the learning rate is so small that steps move nothing. So only the method moves values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

using Numbers = std::vector<double>;

struct RankState {
  Numbers parameters, momentum;
  std::vector<Numbers> state;  // the method's state
};

struct Course {
  std::string method;
  Given averaging;
  int before = 2, after = 4;  // ranks
  std::int64_t saved = 4;     // steps
  std::int64_t more = 1;
  bool nesterov = false;  // of the workers
};

constexpr std::int64_t kBatchOfRank = 8, kTau = 6;

Numbers numbers_in(ConstSlice slice) { return {slice.begin(), slice.end()}; }

TrainingSetting setting_of(const Course& course, const std::filesystem::path& directory) {
  TrainingSetting setting;
  setting.communicator = course.method;
  setting.averaging = course.averaging;
  setting.model = "flatten; dense 4; relu; dense classes";
  setting.samples = 960;
  setting.batch = kBatchOfRank;
  setting.optimizer = {{"momentum", "0.9"}, {"nesterov", course.nesterov ? "on" : "off"}};
  setting.plan.checkpoints.directory = directory;
  setting.plan.steps = course.saved;
  return setting;
}

RankState rank_of(Training& training) {
  training.center();
  RankState rank{numbers_in(training.parameters()), {}, {}};
  for (const Slice vector : training.replica().optimizer.state()) rank.momentum = numbers_in(vector);
  for (const Slice slice : training.communicator().state()) rank.state.push_back(numbers_in(slice));
  return rank;
}

std::vector<RankState> run_on(int ranks, const TrainingSetting& setting) {
  return on_each_rank({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    Trained training(transport, setting);
    return rank_of(training);
  });
}

struct Runs {
  std::vector<RankState> before, after;
};

Runs resume(const Course& course) {
  const TemporaryDirectory temporary;
  TrainingSetting setting = setting_of(course, temporary.path());
  Runs runs;
  runs.before = run_on(course.before, setting);
  setting.plan.elastic_step = course.saved;
  setting.plan.first_step = course.saved * course.before / course.after;
  setting.plan.steps = setting.plan.first_step + course.more;
  setting.rate = {{"lr", "1e-30"}};
  runs.after = run_on(course.after, setting);
  return runs;
}

void expect_near(const Numbers& values, const Numbers& expected, const std::string& what) {
  ASSERT_EQ(values.size(), expected.size());
  double farthest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) farthest = std::max(farthest, std::abs(values[i] - expected[i]));
  EXPECT_LT(farthest, 1e-6) << what;  // a few roundings of values below 1
}

// The center c and its velocity v after one exchange, computed in double.
struct Outer {
  Numbers c, v;
};
using OuterRule = std::function<void(double& c, double& v, double g)>;

struct OuterCourse {
  Course course;
  double ahead_before, ahead;  // workers begin at c - ahead v; `ahead_before` is the value before resumption
  OuterRule rule;
};

// The samples of `rank` since the last exchange. If the rank took part before, these are the samples of its own steps
// in this block and of the steps after resumption. A new rank has only the latter.
double samples_of(const OuterCourse& outer, int rank) {
  const Course& course = outer.course;
  const std::int64_t in_block = rank < course.before ? course.saved % kTau : 0;
  return static_cast<double>(kBatchOfRank * (in_block + course.more));
}

Outer simulate(const OuterCourse& outer, const std::vector<RankState>& before) {
  const Course& course = outer.course;
  Outer result{before[0].state[0], before[0].state[1]};
  double all = 0;
  for (int rank = 0; rank < course.after; ++rank) all += samples_of(outer, rank);
  for (std::size_t i = 0; i < result.c.size(); ++i) {
    double way = 0;  // G: the mean of the workers' movement since their block began, with the sign of a gradient
    for (int rank = 0; rank < std::min(course.before, course.after); ++rank) {
      const double begun = result.c[i] - outer.ahead_before * result.v[i];
      way += samples_of(outer, rank) / all * (begun - before[static_cast<std::size_t>(rank)].parameters[i]);
    }
    outer.rule(result.c[i], result.v[i], way);
  }
  return result;
}

std::vector<OuterCourse> outer_courses() {
  const std::string tau = std::to_string(kTau);
  const auto bmuf = [](double momentum) {
    return [momentum](double& c, double& v, double g) { c -= v = momentum * v + g; };
  };
  const auto diloco = [](double& c, double& v, double g) { v = 0.9 * v + g, c -= 0.7 * (g + 0.9 * v); };
  const Given given = {{"tau", tau}, {"block-momentum", "0.6"}, {"block-nesterov", "on"}};
  const Given usual = {{"tau", tau}, {"block-nesterov", "on"}};
  return {{{"bmuf", given, 2, 4, 2 * kTau, kTau}, 0.6, 0.6, bmuf(0.6)},
          {{"bmuf", given, 2, 4, 2 * kTau + 4, 4}, 0.6, 0.6, bmuf(0.6)},
          {{"bmuf", given, 1, 2, 2 * kTau, kTau}, 0.6, 0.6, bmuf(0.6)},
          {{"bmuf", given, 4, 2, kTau + 3, 6}, 0.6, 0.6, bmuf(0.6)},
          {{"bmuf", given, 2, 4, 2 * kTau + 4, 4, true}, 0.6, 0.6, bmuf(0.6)},
          {{"bmuf", usual, 2, 4, 2 * kTau + 4, 4}, 0.5, 0.75, bmuf(0.75)},
          {{"bmuf", usual, 4, 2, kTau + 3, 6}, 0.75, 0.5, bmuf(0.5)},
          {{"diloco", {{"tau", tau}}, 2, 4, 2 * kTau + 4, 4}, 0, 0, diloco},
          {{"diloco", {{"tau", tau}}, 4, 2, kTau + 3, 6}, 0, 0, diloco}};
}

TEST(Joined, outer_methods_take_G_from_where_each_worker_began_its_block) {
  for (const OuterCourse& outer : outer_courses()) {
    const Course& course = outer.course;
    const std::string what = course.method + ", " + std::to_string(course.before) + " to " +
                             std::to_string(course.after) + " ranks after step " + std::to_string(course.saved);
    const Runs runs = resume(course);
    const Outer expected = simulate(outer, runs.before);
    for (const RankState& rank : runs.after) {
      expect_near(rank.state[0], expected.c, what + ", c");
      expect_near(rank.state[1], expected.v, what + ", v");
      Numbers begun = expected.c;
      for (std::size_t i = 0; i < begun.size(); ++i) begun[i] -= outer.ahead * expected.v[i];
      expect_near(rank.parameters, begun, what + ", next beginning");
    }
  }
}

TEST(Joined, slow_momentum_goes_on_from_the_velocity_that_was_saved) {
  // Resumes after step 12 with a rate of 1e-30. If any worker had moved, G / 1e-30 in u = 0.5 u + G / 1e-30 would leave
  // the range of float32. No worker has moved, so G is 0.
  const Runs runs = resume({"slowmo", {{"tau", "6"}, {"slowmo-momentum", "0.5"}}, 2, 4, 2 * kTau, kTau});
  for (const RankState& rank : runs.after) {
    Numbers half = runs.before[0].state[1];
    for (double& value : half) value /= 2;
    expect_near(rank.state[1], half, "u");
    expect_near(rank.state[0], runs.before[0].state[0], "c");
  }
}

// A run of diloco on 2 ranks goes on on 4, whose next exchange follows step 6. If `stops_at` is above 0, it is saved
// and goes on once more there. Returns the parameters of all ranks and their counts of updates.
std::vector<std::pair<std::vector<float>, std::int64_t>> joined_by_adamw(std::int64_t stops_at) {
  const TemporaryDirectory temporary;
  TrainingSetting setting =
      setting_of({"diloco", {{"tau", "6"}, {"worker-momentum", "average"}}, 2, 4, 8}, temporary.path());
  setting.rule = "adamw";
  setting.optimizer = {};
  run_on(2, setting);
  setting.plan.elastic_step = 8;
  setting.plan.first_step = 4;
  if (stops_at > 0) {
    setting.plan.steps = stops_at;
    run_on(4, setting);
    setting.plan.elastic_step = 0;
    setting.plan.first_step = stops_at;
  }
  setting.plan.steps = 9;
  return on_each_rank({"threads", 4}, [&](Transport& transport) {
    Trained training(transport, setting);
    return std::pair(training.parameters(), *training.replica().optimizer.update_count());
  });
}

TEST(Joined, a_new_worker_takes_the_count_of_updates_of_the_others_also_if_it_is_saved_before) {
  const auto whole = joined_by_adamw(0), saved = joined_by_adamw(5);
  EXPECT_EQ(whole[3].second, whole[0].second);
  EXPECT_EQ(saved, whole);
}

// Each worker pushes exactly its movement since its last pull. So c becomes c + sum_i (x_i - b_i), with b_i the values
// that worker i pulled last.
TEST(Joined, downpour_pushes_what_workers_have_gone_since_their_last_pull) {
  for (const std::string method : {"downpour", "adownpour"}) {
    const Course course{method, {{"tau", "4"}, {"async-order", "round-robin"}}, 2, 4, 6, 1};
    const Runs runs = resume(course);
    Numbers expected = runs.before[0].state[0];
    for (const RankState& rank : runs.before) {
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += rank.parameters[i] - rank.state.back()[i];
    }
    expect_near(runs.after[0].state[0], expected, method);
  }
}

TEST(Joined, a_delayed_pull_arrives_before_the_next_exchange) {
  Course course{"easgd-async", {{"tau", "4"}, {"pull-delay", "2"}, {"alpha", "0.3"}, {"async-order", "round-robin"}}};
  course.saved = 6;  // the pull of the exchange in step 4 is due in step 6, both counted from 0
  course.more = 0;
  const Runs runs = resume(course);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Numbers expected = runs.before[rank].parameters;
    const Numbers& pull = runs.before[rank].state.back();
    EXPECT_GT(std::abs(*std::ranges::max_element(pull)), 1e-6) << "the pull is still to come";
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= pull[i];
    expect_near(runs.after[rank].parameters, expected, "x");
  }
}

TEST(Joined, workers_that_look_ahead_keep_the_velocity_that_they_look_along) {
  Course course{"easgd", {{"tau", "3"}}};
  course.more = 0;
  course.nesterov = true;
  const Runs runs = resume(course);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(runs.after[rank].parameters, runs.before[rank].parameters);
    EXPECT_EQ(runs.after[rank].momentum, runs.before[rank].momentum);
  }
  EXPECT_EQ(runs.after[2].parameters, runs.before[0].state[0]);
  EXPECT_EQ(runs.after[2].momentum, Numbers(runs.after[2].momentum.size()));
}

// The run had ended, so its checkpoint shows the mean of all workers. A count's first float has its lowest 16 bits.
TEST(Joined, none_keeps_the_samples_that_its_mean_weighs) {
  const Course course{"none", {{"average-at-end", "on"}}};
  const Runs runs = resume(course);
  const auto samples_at = [](std::int64_t steps) { return static_cast<double>(steps * kBatchOfRank); };
  const double all = 2 * samples_at(course.saved) + 4 * samples_at(course.more);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const RankState& after = runs.after[rank];
    EXPECT_EQ(after.parameters, runs.before[rank < 2 ? rank : 0].parameters) << rank;
    EXPECT_EQ(after.state[0][0], samples_at((rank < 2 ? course.saved : 0) + course.more)) << rank;
    EXPECT_EQ(after.state[0][4], all) << rank;
  }
}

TEST(Joined, adaptive_tau_keeps_the_loss_that_it_is_measured_by_and_forgets_those_since_the_last_exchange) {
  const Course course{"local-sgd", {{"tau", "3"}, {"adaptive-tau", "on"}}, 2, 4, 7, 0};
  const Runs runs = resume(course);
  const auto kept = [](const RankState& rank, std::size_t which) {
    const auto begin = rank.state[1].begin() + 4 * static_cast<std::ptrdiff_t>(which);
    return Numbers(begin, begin + 4);
  };
  const RankState& before = runs.before[0];
  for (const std::size_t which : {0, 3})  // tau, and the loss of the first steps
    EXPECT_EQ(kept(runs.after[3], which), kept(before, which));
  EXPECT_NE(kept(before, 3), Numbers(4)) << "the first loss is known";
  for (const std::size_t which : {1, 2}) {  // steps and loss since the last exchange
    EXPECT_NE(kept(before, which), Numbers(4));
    for (const RankState& after : runs.after) EXPECT_EQ(kept(after, which), Numbers(4));
  }
}

}  // namespace
}  // namespace eave
