// A run that resumes with another number of ranks.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/checkpoint_directory.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"
#include "train/saving/checkpoint_load.h"

namespace eave {
namespace {

// The step of the checkpoint. A step has 8 samples per rank, so on two ranks 6 steps are an epoch of 96 samples.
constexpr std::int64_t kSaved = 6;

// The state of all ranks when they saved.
struct Former {
  explicit Former(int ranks)
      : parameters(static_cast<std::size_t>(ranks)), momentum(parameters.size()), own(parameters.size()) {}
  std::vector<std::vector<float>> parameters, momentum;
  std::vector<std::vector<std::vector<float>>> own;  // the method's own vectors that are as large as the parameters
  std::vector<float> center;
  std::vector<float> beginning;  // where a new worker begins
  std::int64_t bytes = 0;        // that rank 0 has sent
};

TrainingSetting setting_of(const std::string& method, int ranks, const std::filesystem::path& directory) {
  TrainingSetting setting = setting_with(method, ranks);
  setting.model = "flatten; dense 4; relu; dense classes";
  setting.plan.steps = kSaved;
  setting.plan.checkpoints.directory = directory;
  setting.plan.replica_hash_every = 1;  // ends the run if vectors that must be equal on all ranks differ
  return setting;
}

std::vector<float> values_of(Slice slice) { return {slice.begin(), slice.end()}; }

std::vector<float> beginning_of(const std::string& method, Training& training) {
  const std::vector<Slice> state = training.communicator().state();
  // These methods evaluate the average z, but a new worker begins at c.
  if (method == "adownpour" || method == "mvadownpour") return values_of(state[0]);
  std::vector<float> beginning = training.center();
  if (method != "mdownpour") return beginning;
  for (std::size_t i = 0; i < beginning.size(); ++i) beginning[i] += 0.9f * state[1][i];
  return beginning;
}

std::vector<std::vector<float>> own_vectors(Training& training) {
  std::vector<std::vector<float>> own;
  for (const Slice slice : training.communicator().own_state())
    if (slice.size() == training.replica().parameters.size()) own.push_back(values_of(slice));
  return own;
}

Former save_on(int ranks, const TrainingSetting& given, const std::vector<int>& without_access = {}) {
  const std::string method = given.communicator;
  Former former(ranks);
  on_ranks({"threads", ranks}, [&](Transport& transport) {
    TrainingSetting setting = given;
    setting.take_access(transport, without_access);
    Trained training(transport, setting);
    const auto rank = static_cast<std::size_t>(transport.rank());
    former.parameters[rank] = training.parameters();
    former.momentum[rank] = training.momentum();
    former.own[rank] = own_vectors(training);
    const std::vector<float> center = training.center();
    if (rank == 0) former.center = center;
    if (rank == 0) former.bytes = training.result.progress.bytes;
    if (rank == 0) former.beginning = beginning_of(method, training);
  });
  return former;
}

// Whether workers go on from their own parameters: the method keeps a center, evaluates one worker, or keeps all equal.
// Otherwise the consensus is the workers' mean, from which all begin.
bool keeps_workers(Training& training) {
  Communicator& communicator = training.communicator();
  const ConstSlice consensus = communicator.consensus();
  const auto is_center = [&](Slice each) { return each.data() == consensus.data(); };
  const auto is_model = [&](Slice each) { return each.size() == consensus.size(); };
  return training.parts().traits.averages_gradients || communicator.consensus_is_first_worker() ||
         std::ranges::any_of(communicator.state(), is_center) ||
         std::ranges::any_of(communicator.common_state(), is_model);
}

class Elastic : public testing::TestWithParam<std::string> {};

// Saves on `before` ranks and resumes on `ranks`. The rank `first` and all later ranks have no access.
void expect_goes_on(const std::string& method, int before, int ranks, int first) {
  const TemporaryDirectory temporary;
  const auto without_access = [&](int count) {
    std::vector<int> those;
    for (int rank = first; rank < count; ++rank) those.push_back(rank);
    return those;
  };
  const Former former = save_on(before, setting_of(method, before, temporary.path()), without_access(before));
  on_ranks({ranks == 1 ? "loopback" : "threads", ranks}, [&](Transport& transport) {
    TrainingSetting setting = setting_of(method, ranks, temporary.path());
    setting.take_access(transport, without_access(ranks));
    setting.plan.elastic_step = kSaved;
    const std::int64_t samples = 8 * before * kSaved;
    setting.plan.first_step = setting.plan.steps = samples / (8 * ranks);
    Training training(transport, setting);
    ASSERT_EQ(step_after_samples(training.parts().sampler, samples), setting.plan.first_step);
    const TrainingResult result = training.run();
    EXPECT_EQ(result.progress.samples, setting.plan.first_step * 8 * ranks);
    EXPECT_EQ(result.progress.bytes, former.bytes) << "which --stop-after-bytes counts on";
    EXPECT_EQ(training.center(), former.center) << ranks;
    const auto rank = static_cast<std::size_t>(transport.rank());
    const bool begins_at_mean = method == "local-sgd" || method == "gossip";
    EXPECT_FALSE(begins_at_mean && keeps_workers(training)) << method;
    const bool stays = keeps_workers(training) && transport.rank() < before;
    EXPECT_EQ(training.parameters(), stays ? former.parameters[rank] : former.beginning) << ranks << ", " << rank;
    if (training.parts().traits.averages_gradients || (begins_at_mean && before == 1)) {
      EXPECT_EQ(training.momentum(), former.momentum[0]);
    } else if (stays) {
      EXPECT_EQ(training.momentum(), former.momentum[rank]);
    }
  });
}

TEST_P(Elastic, resumption_keeps_center_and_workers_and_begins_new_ones_where_workers_begin) {
  constexpr int kNone = 4;
  for (const auto& [before, after] : {std::pair(1, 2), {1, 4}, {2, 1}, {2, 3}, {2, 4}, {4, 2}, {3, 1}}) {
    if (goes_with(GetParam(), before) && goes_with(GetParam(), after)) expect_goes_on(GetParam(), before, after, kNone);
  }
}

TEST_P(Elastic, resumption_of_ranks_that_do_not_see_the_directory_is_the_same) {
  for (const int first : {1, 2}) {
    if (goes_with(GetParam(), 4)) expect_goes_on(GetParam(), 2, 4, first);
  }
}

class ElasticFrom : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(ElasticFrom, resumption_trains_on_and_saves) {
  const auto [method, before] = GetParam();
  if (!goes_with(method, 3)) GTEST_SKIP() << "not on 3 ranks";
  const TemporaryDirectory temporary;
  save_on(before, setting_of(method, before, temporary.path()));
  on_ranks({"threads", 3}, [&, method = method, before = before](Transport& transport) {
    TrainingSetting setting = setting_of(method, 3, temporary.path());
    setting.plan.elastic_step = kSaved;
    setting.plan.first_step = kSaved * before / 3;
    setting.plan.steps = 9;
    Training training(transport, setting);
    EXPECT_EQ(training.run().progress.steps, 9);
    for (const float value : training.parameters()) ASSERT_TRUE(std::isfinite(value));
    const auto found = find_checkpoint(transport, temporary.path());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->manifest.step, 9);
    EXPECT_EQ(found->manifest.files.size(), 3u);
  });
}

// easgd-tree is left out, because checkpoint_easgd_tree_test.cpp (JoinedTree) tests it more closely.
TEST_P(Elastic, resumption_keeps_what_compression_dropped_of_workers_that_were_there) {
  const std::string method = GetParam();
  const auto kind = std::ranges::find(communicator_kinds(), method, &CommunicatorKind::name);
  if (!kind->traits.compresses || method == "easgd-tree") GTEST_SKIP() << "not this method's";
  for (const auto& [before, after] : {std::pair(2, 4), {4, 2}, {4, 3}}) {
    const TemporaryDirectory temporary;
    const auto setting_on = [&](int ranks) {
      TrainingSetting setting = setting_of(method, ranks, temporary.path());
      setting.averaging.emplace_back("compression", "bf16");
      return setting;
    };
    const Former former = save_on(before, setting_on(before));
    on_ranks({"threads", after}, [&, after = after, before = before](Transport& transport) {
      TrainingSetting setting = setting_on(after);
      setting.plan.elastic_step = kSaved;
      setting.plan.first_step = setting.plan.steps = kSaved * before / after;
      Trained training(transport, setting);
      EXPECT_EQ(training.center(), former.center);
      const std::vector<std::vector<float>> own = own_vectors(training);
      const bool pushes = method.find("downpour") != std::string::npos && method != "mdownpour";
      const bool drops = !pushes && method != "easgd-async" && method != "mdownpour";
      ASSERT_EQ(own.empty(), !pushes && !drops) << "what it keeps of its own";
      if (transport.rank() >= before) return;
      EXPECT_EQ(own, former.own[static_cast<std::size_t>(transport.rank())]);
      const bool is_something = drops && former.own[0][0] != std::vector<float>(former.own[0][0].size());
      EXPECT_EQ(is_something, drops) << "something has been dropped";
    });
  }
}

INSTANTIATE_TEST_SUITE_P(With, ElasticFrom,
                         testing::Combine(testing::ValuesIn(communicator_names(2)), testing::Values(1, 2)),
                         [](const auto& each) {
                           return identifier(std::get<0>(each.param)) + std::to_string(std::get<1>(each.param));
                         });
INSTANTIATE_TEST_SUITE_P(With, Elastic, testing::ValuesIn(communicator_names(2)), in_identifiers);

TEST(ElasticAverage, that_one_rank_has_saved_with_other_bits_is_that_of_rank_0) {
  const TemporaryDirectory temporary;
  const auto setting_on = [&](int ranks) {
    TrainingSetting setting = setting_of("easgd", ranks, temporary.path());
    setting.plan.replica_hash_every = 0;
    setting.ema_decay = 0.9;
    return setting;
  };
  std::vector<float> saved;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    Training training(transport, setting_on(2));
    training.at_step = [&](const StepRecord& record) {
      if (record.step == 2 && transport.rank() == 1) training.parts().average->state()[0][7] += 1;
    };
    training.run();
    EXPECT_FALSE(same_on_all_ranks(transport, training.average()));
    if (transport.rank() == 0) saved = training.average();
  });
  on_ranks({"threads", 3}, [&](Transport& transport) {
    TrainingSetting setting = setting_on(3);
    setting.plan.elastic_step = kSaved;
    setting.plan.first_step = setting.plan.steps = kSaved * 2 / 3;
    EXPECT_EQ(Trained(transport, setting).average(), saved);
  });
}

// An average of every 7 steps moves after step 1. Saved after step 6 of two ranks, the run goes on as after step 4 of
// three ranks, so the next move, after their step 7, is 8 steps after the last one. A checkpoint in between keeps that.
TEST(ElasticAverage, counts_its_steps_over_the_resumption_and_a_checkpoint_after_it) {
  constexpr double kDecay = 0.8;
  for (const std::int64_t stop : {5, 7}) {
    const TemporaryDirectory temporary;
    const auto setting_on = [&](int ranks, std::int64_t steps) {
      TrainingSetting setting = setting_of("allreduce", ranks, temporary.path());
      setting.ema_decay = kDecay;
      setting.ema_every = 7;
      setting.plan.steps = steps;
      return setting;
    };
    std::vector<float> before;
    on_ranks({"threads", 2}, [&](Transport& transport) {
      Trained trained(transport, setting_on(2, kSaved));
      if (transport.rank() == 0) before = trained.average();
    });
    on_ranks({"threads", 3}, [&](Transport& transport) {
      TrainingSetting setting = setting_on(3, stop);
      setting.plan.elastic_step = kSaved;
      setting.plan.first_step = 4;
      Trained(transport, setting);
    });
    on_ranks({"threads", 3}, [&](Transport& transport) {
      TrainingSetting setting = setting_on(3, 7);
      setting.plan.first_step = stop;
      Trained trained(transport, setting);
      const std::vector<float> consensus = trained.center();
      const double kept = std::pow(kDecay, 8);
      for (std::size_t i = 0; i < consensus.size(); ++i)
        ASSERT_NEAR(trained.average()[i], kept * before[i] + (1 - kept) * consensus[i], 1e-6) << stop;
    });
  }
}

// Many more ranks may go on before their first step. Saved 5 steps after the average moved, it moves 6 steps after
// that.
TEST(ElasticAverage, is_kept_by_a_run_that_goes_on_at_its_first_step) {
  const TemporaryDirectory temporary;
  TrainingSetting setting = setting_of("allreduce", 2, temporary.path());
  setting.ema_decay = 0.8;
  setting.ema_every = 7;
  setting.plan.steps = kSaved;
  std::vector<float> before;
  on_ranks({"threads", 2}, [&](Transport& transport) {
    Trained trained(transport, setting);
    if (transport.rank() == 0) before = trained.average();
  });
  TrainingSetting later = setting_of("allreduce", 3, temporary.path());
  later.ema_decay = setting.ema_decay;
  later.ema_every = setting.ema_every;
  later.plan.elastic_step = kSaved;
  later.plan.first_step = 0;
  later.plan.steps = 1;
  on_ranks({"threads", 3}, [&](Transport& transport) {
    Trained trained(transport, later);
    const std::vector<float> consensus = trained.center();
    const double kept = std::pow(0.8, 6);
    for (std::size_t i = 0; i < consensus.size(); ++i)
      ASSERT_NEAR(trained.average()[i], kept * before[i] + (1 - kept) * consensus[i], 1e-6) << i;
  });
}

TEST(StepAfterSamples, is_the_last_one_that_begins_no_later) {
  Sampler sampler(Sampling::kShard, 33, 4, 8, 1, {});  // steps of 32 and 1
  const std::vector<std::int64_t> steps = {0, 0, 1, 2, 2, 3, 4};
  const std::vector<std::int64_t> samples = {0, 31, 32, 33, 64, 65, 66};
  for (std::size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(step_after_samples(sampler, samples[i]), steps[i]) << i;
}

}  // namespace
}  // namespace eave
