// What a trainer tells by the clock.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "test/train/training.h"
#include "test/transport/ranks.h"

namespace eave {
namespace {

// A batch of 8 takes 40 ms to read.
class SlowImages final : public Dataset {
 public:
  explicit SlowImages(std::int64_t size) : images_(size) {}
  std::int64_t size() const override { return images_.size(); }
  ImageShape shape() const override { return images_.shape(); }
  int classes() const override { return images_.classes(); }
  std::int32_t label(std::int64_t index) const override { return images_.label(index); }
  void read(std::int64_t index, std::span<std::uint8_t> pixels) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    images_.read(index, pixels);
  }

 private:
  CraftedImages images_;
};

DataSplit slow_data(const TrainingSetting& setting) {
  DataSplit data = crafted_data(setting.samples, setting.test_samples);
  data.train = std::make_unique<SlowImages>(setting.samples);
  return data;
}

TEST(Glances, come_by_the_clock_whatever_the_steps_per_record) {
  on_ranks({"threads", 2}, [](Transport& transport) {
    TrainingSetting setting;
    setting.plan.steps = 30;
    setting.plan.log_every_steps = 1000;
    Training training(transport, setting, slow_data(setting));
    const double seconds = training.run().progress.seconds;
    ASSERT_GT(seconds, 1);
    EXPECT_EQ(training.steps.size(), 1u);
    EXPECT_LE(static_cast<double>(training.glances.size()), seconds / 0.2);
    EXPECT_GE(static_cast<double>(training.glances.size()), seconds / 0.2 / 2) << "half, on a machine with much to do";
    std::int64_t last = 0;
    for (const StepRecord& glance : training.glances) {
      EXPECT_GT(glance.step, last);
      EXPECT_EQ(glance.samples, glance.step * 16);
      EXPECT_TRUE(std::isfinite(glance.loss));
      last = glance.step;
    }
  });
}

}  // namespace
}  // namespace eave
