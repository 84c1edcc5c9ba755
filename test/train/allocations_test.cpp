// A training step allocates nothing after the first step of its batch size.
#include <gtest/gtest.h>

#include <vector>

#include "eave/random.h"
#include "test/train/large_allocations.h"
#include "test/train/training.h"

namespace eave {
namespace {

TEST(LargeAllocations, are_seen_whoever_asks) {
  const long before = large_allocations();
  const std::vector<char> one(5000);
  const Buffer two(5000);
  EXPECT_GE(large_allocations() - before, 2);
}

// Windows of random tokens.
class CraftedTokens final : public TokenDataset {
 public:
  explicit CraftedTokens(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  int classes() const override { return 90; }
  int context() const override { return 40; }
  void read_tokens(std::int64_t index, std::span<std::int32_t> tokens) const override {
    RandomStream random({5, Purpose::kTest, 3}, static_cast<std::uint64_t>(index));
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random.below(90));
  }

 private:
  std::int64_t size_;
};

DataSplit crafted_tokens(std::int64_t train, std::int64_t test) {
  DataSplit split;
  split.train = std::make_unique<CraftedTokens>(train);
  split.test = std::make_unique<CraftedTokens>(test);
  return split;
}

constexpr const char* kTransformer =
    "embedding 48 positions 40; dropout 0.1; residual(layer_norm; linear 144; attention 3 dropout 0.2; linear 48); "
    "residual(rms_norm; linear 192; rotary 2 groups 1; attention 2 groups 1; linear 96; gated silu; linear 48 "
    "no_bias); "
    "residual(layer_norm no_bias; linear 96; gelu; linear 48; dropout 0.1); layer_norm; tied_output";

class Allocations : public testing::TestWithParam<std::string> {};

// Each kind of layer with a workspace is in one of the models. There are two epochs, each of which ends with a smaller
// batch; the plan for this batch is made in the first epoch. The last step is left out, because an evaluation follows
// it.
TEST_P(Allocations, of_4_KiB_or_more_are_not_made_by_steps_of_the_second_epoch) {
  for (const char* model :
       {"conv2d 8 3x3 pad 1; relu; max_pool 2; flatten; dense 64; relu; dropout 0.5; dense classes",
        "conv2d 8 3x3 no_bias; batch_norm; relu; residual(conv2d 8 3x3 pad 1; batch_norm); relu; average_pool 2; "
        "global_pool; dense classes",
        kTransformer}) {
    std::vector<long> after(2);
    on_ranks({"threads", 2}, [&](Transport& transport) {
      TrainingSetting setting;
      setting.model = model;
      setting.communicator = GetParam();
      setting.averaging = frequent_exchanges(GetParam());
      setting.samples = 197;  // 12 steps of 16 and one of 5 an epoch
      setting.batch = 8;
      setting.plan.steps = 26;
      const bool reads_tokens = model == kTransformer;
      if (reads_tokens) setting.augmentation = {};
      Training training(transport, setting,
                        (reads_tokens ? crafted_tokens : crafted_data)(setting.samples, setting.test_samples));
      training.at_step = [&](const StepRecord& step) {
        if (step.step != 13 && step.step != 25) return;
        transport.all_gather("all are here");
        if (transport.rank() == 0) after[step.step == 25] = large_allocations();
        transport.all_gather("go on");
      };
      training.steps.reserve(26);
      training.run();
    });
    EXPECT_GT(after[0], 0);
    EXPECT_EQ(after[1] - after[0], 0) << model;
  }
}

INSTANTIATE_TEST_SUITE_P(With, Allocations, testing::ValuesIn(communicator_names(2)), in_identifiers);

}  // namespace
}  // namespace eave
