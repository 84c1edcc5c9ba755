// Whole runs on a GPU end where the same runs on the CPU end, with every communicator. The transport copies through
// host memory.
#include "eave/job.h"
#include "test/cuda/gpu.h"
#include "test/temporary_directory.h"
#include "test/train/training.h"

namespace eave {
namespace {

class TrainingOnGpu : public OnGpu, public testing::WithParamInterface<std::string> {};

struct Outcome {
  std::vector<float> center;
  std::vector<double> losses;
  double accuracy = 0;
};

Outcome train_on(const CudaModule* module, const std::string& communicator) {
  Outcome outcome;
  std::mutex mutex;
  const bool alone = find_kind(communicator_kinds(), communicator).traits.only_one_rank;
  find_kind(transport_kinds(), "threads").run(alone ? 1 : 2, [&](Transport& transport) {
    TrainingSetting setting;
    setting.communicator = communicator;
    setting.averaging = frequent_exchanges(communicator, transport.size());
    setting.module = module;
    Training training(transport, setting);
    const TrainingResult result = training.run();
    const std::lock_guard lock(mutex);
    if (transport.rank() != 0) return;
    outcome.center = training.center();
    outcome.accuracy = result.evaluation.center.accuracy;
    for (const StepRecord& record : training.steps) outcome.losses.push_back(record.loss);
  });
  return outcome;
}

// The tolerance covers float32 sums in another order over 12 steps.
TEST_P(TrainingOnGpu, ends_where_the_cpu_ends) {
  const Outcome here = train_on(nullptr, GetParam()), there = train_on(module_, GetParam());
  ASSERT_EQ(here.losses.size(), there.losses.size());
  for (std::size_t i = 0; i < here.losses.size(); ++i) EXPECT_NEAR(there.losses[i], here.losses[i], 1e-4) << i;
  EXPECT_LT(relative_distance(there.center, here.center), 1e-4);
  EXPECT_NEAR(there.accuracy, here.accuracy, 0.02);
}

TEST_P(TrainingOnGpu, gives_the_same_bits_again) {
  EXPECT_EQ(train_on(module_, GetParam()).center, train_on(module_, GetParam()).center);
}

// Two ranks save a checkpoint after 5 steps, and three ranks resume from it.
std::vector<float> go_on_with_three(const CudaModule* module, const std::string& communicator) {
  const TemporaryDirectory directory;
  std::vector<float> center;
  std::mutex mutex;
  for (const int ranks : {2, 3}) {
    find_kind(transport_kinds(), "threads").run(ranks, [&](Transport& transport) {
      TrainingSetting setting;
      setting.communicator = communicator;
      setting.averaging = frequent_exchanges(communicator, ranks);
      if (communicator == "bmuf") setting.averaging.emplace_back("block-nesterov", "on");
      setting.module = module;
      setting.plan.checkpoints.directory = directory.path();
      setting.plan.steps = 5;
      if (ranks == 3) {
        setting.plan.elastic_step = 5;
        setting.plan.first_step = 3;
        setting.plan.steps = 9;
      }
      Training training(transport, setting);
      training.run();
      const std::lock_guard lock(mutex);
      if (transport.rank() == 0) center = training.center();
    });
  }
  return center;
}

TEST_P(TrainingOnGpu, goes_on_with_other_ranks_as_the_cpu_does) {
  if (find_kind(communicator_kinds(), GetParam()).traits.only_one_rank) return;
  EXPECT_LT(relative_distance(go_on_with_three(module_, GetParam()), go_on_with_three(nullptr, GetParam())), 1e-4);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const CommunicatorKind& kind : communicator_kinds()) all.push_back(kind.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Communicators, TrainingOnGpu, testing::ValuesIn(names()), in_identifiers);

}  // namespace
}  // namespace eave
